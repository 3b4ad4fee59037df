import BellhopRules
import Push

/// What is sent of a delivery: a push to one device, or a mail to the user's address.
///
/// Indirect, so that looking at one thing of it does not copy all of its texts.
indirect enum Cargo: Sendable {
    case push(PushMessage)
    case mail(EmailMessage)

    /// Through whom it goes.
    func outlet(of app: AppID) -> OutletKey {
        switch self {
        case .push(let message): OutletKey(app: app, provider: message.device.provider)
        case .mail: .email(of: app)
        }
    }

    var type: EventType {
        switch self {
        case .push(let message): message.type
        case .mail(let message): message.type
        }
    }

    var push: PushMessage? {
        if case .push(let message) = self { message } else { nil }
    }

    var mail: EmailMessage? {
        if case .mail(let message) = self { message } else { nil }
    }

    /// The device that it goes to; nil for a mail.
    var device: Device? { push?.device }
}
