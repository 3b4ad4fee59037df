import BellhopRules
import Foundation
import Push

/// The message that a check sends.
struct ProviderTest: Sendable {
    private enum Payload {
        case push(PushMessage)
        case mail(EmailMessage)
    }

    private let cargo: Payload

    /// Creates the message from the input.
    ///
    /// Values that cannot be tested are errors of their field.
    init(_ fields: OperationFields, app: AppID, provider: CheckedProvider) throws(OperationError) {
        guard let token = fields.text("token") ?? provider.madeUpToken else {
            let what = provider == .email ? "your own address" : "a file with a browser's subscription (JSON)"
            throw .unfit("--token is missing: \(provider.rawValue) needs \(what)", field: "token")
        }
        guard let push = provider.push else {
            cargo = .mail(try Self.mail(to: token, app))
            return
        }
        cargo = .push(try Self.message(app, to: try Self.device(fields, push, token)))
    }

    /// Sends the message and returns the provider's verdict, or `nil` if the app does not use the provider.
    func verdict(through senders: PushSenders) async -> Verdict? {
        switch cargo {
        case .mail(let message): return await senders.emailSenders[message.app]?.send([message]).first
        case .push(let message):
            guard var sender = senders.senders[message.app]?[message.device.provider] else { return nil }
            if var fcm = sender as? FCMSender {
                fcm.validatesOnly = true
                sender = fcm
            }
            return await sender.send([message]).first
        }
    }

    private static let text = (title: "Bellhop", body: "This is a test of the connection. All is well.")

    private static func device(
        _ fields: OperationFields,
        _ provider: PushProvider,
        _ token: String
    ) throws(OperationError) -> Device {
        let environment = try fields.optional("environment", "production or sandbox", PushEnvironment.init(rawValue:))
        let usual: DevicePlatform = provider == .apns ? .ios : provider == .webpush ? .web : .android
        let platform = try fields.optional("platform", "ios, android or web", DevicePlatform.init(rawValue:))
        guard provider == .webpush else {
            guard let token = DeviceToken(validating: token) else {
                throw .unfit("--token is not a valid device token", field: "token")
            }
            return Device(
                subscription: "check",
                token: token,
                platform: platform ?? usual,
                provider: provider,
                environment: environment ?? .production
            )
        }
        return try browser(token)
    }

    /// Reads a browser's subscription from a file in the form of `JSON.stringify(subscription)`.
    private static func browser(_ file: String) throws(OperationError) -> Device {
        let object = FileManager.default.contents(atPath: file).flatMap {
            Self.object([UInt8]($0.prefix(64 * 1024)))
        }
        guard let object, let token = object["endpoint"]?.string.flatMap(DeviceToken.init(validating:)),
            let keys = WebPushKeys(subscription: object)
        else {
            throw OperationError(
                .refused,
                attempted: "reading the subscription in \(file)",
                "it holds no endpoint with the keys p256dh and auth",
                advice: "save what JSON.stringify(subscription) gives in the browser"
            )
        }
        var device = Device(subscription: "check", token: token, platform: .web, provider: .webpush)
        device.webPushKeys = keys
        return device
    }

    private static func object(_ bytes: [UInt8]) -> JSONObject? {
        guard case .success(let value) = JSONParser(limits: .event).parse(bytes) else { return nil }
        return value.object
    }

    private static func mail(to address: String, _ app: AppID) throws(OperationError) -> EmailMessage {
        guard let address = EmailAddress(validating: address) else {
            throw .unfit("--token is not a valid e-mail address", field: "token")
        }
        guard let names = Names(), let language = LanguageTag(validating: "en") else { throw names }
        return EmailMessage(
            app: app,
            user: names.user,
            notification: names.notification,
            type: names.type,
            address: address,
            words: (language: language, title: text.title, body: text.body)
        )
    }

    private static func message(_ app: AppID, to device: Device) throws(OperationError) -> PushMessage {
        guard let names = Names() else { throw names }
        return PushMessage(
            app: app,
            notification: names.notification,
            type: names.type,
            words: (title: text.title, body: text.body),
            device: device
        )
    }

    private static let names = OperationError(
        .failed,
        attempted: "naming the test message",
        "a name that the rules refuse",
        advice: "report it"
    )

    /// The names of the test message.
    ///
    /// The notification's id is random, so that a second check does not count as a repeat of the first.
    private struct Names {
        let user: UserID
        let notification: NotificationID
        let type: EventType

        init?() {
            guard let user = UserID(validating: "bellhop-check"), let type = EventType(validating: "bellhop-check")
            else {
                return nil
            }
            self.user = user
            self.type = type
            notification = NotificationID(bits: .random(in: .min ... .max))
        }
    }
}
