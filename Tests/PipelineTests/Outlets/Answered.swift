import BellhopRules
import Push
import Store
import Testing

@testable import Pipeline

/// A provider's answer about a message to one user's device.
struct Answered: Sendable {
    let person: String
    let verdict: Verdict
    var platform = DevicePlatform.android
    var environment = PushEnvironment.production
    var wasReached = false

    /// Returns one answer each for `count` users, who are named from `first` on.
    static func people(_ count: Int, from first: Int = 0, _ verdict: Verdict, wasReached: Bool = false) -> [Answered] {
        (first..<first + count).map { Answered(person: "u\($0)", verdict: verdict, wasReached: wasReached) }
    }

    static func recipient(_ person: String) throws -> UserKey {
        UserKey(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: person))
        )
    }

    /// The first attempt of a delivery.
    static var attempt: Attempt {
        get throws {
            return Attempt(index: 0, key: try shipment.key)
        }
    }

    /// The shipment of that delivery.
    static var shipment: OutgoingDelivery {
        get throws { try Answered(person: "u", verdict: .delivered(providerMessageID: nil)).shipment(0, .fcm) }
    }

    func shipment(_ index: Int, _ provider: PushProvider) throws -> OutgoingDelivery {
        let recipient = try Self.recipient(person)
        let device = Device(
            subscription: "s\(index)",
            token: try #require(DeviceToken(validating: "t\(index)")),
            platform: platform,
            provider: provider,
            environment: environment,
            wasReached: wasReached
        )
        let notification = NotificationID(bits: UInt64(index))
        let message = PushMessage(
            app: recipient.app,
            notification: notification,
            type: try #require(EventType(validating: "security")),
            words: (title: "Hei", body: "på deg"),
            device: device
        )
        return OutgoingDelivery(
            index: index,
            key: DeliveryKey(
                notification: NotificationKey(recipient: recipient, notification: notification),
                channel: .push,
                target: device.subscription
            ),
            event: try #require(EventID(validating: "e\(index)")),
            message: message
        )
    }

    /// Returns the judgement of a batch with these answers, and the batch's outlet.
    static func judged(
        _ answers: [Answered],
        through provider: PushProvider = .fcm,
        _ history: AcceptanceHistory = .everybody
    ) throws -> (judgement: BatchOutcome, outlet: OutletKey) {
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: provider)
        let shipments = try answers.enumerated().map { try $1.shipment($0, provider) }
        let verdicts = answers.map(\.verdict)
        return (BatchOutcome(verdicts, of: shipments, outlet, history), outlet)
    }
}
