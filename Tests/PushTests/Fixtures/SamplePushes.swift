import BellhopRules
import Push
import Testing

/// Messages and instants for tests.
enum SamplePushes {
    /// 2026-02-15T13:45:00Z.
    static let now = Timestamp(clamping: 1_771_163_100_000_000)

    static func plain(
        _ platform: DevicePlatform = .android,
        token: String = "device-token",
        notification: UInt64 = 0xAB
    ) throws -> PushMessage {
        PushMessage(
            app: try #require(AppID(validating: "drop")),
            notification: NotificationID(bits: notification),
            type: try #require(EventType(validating: "transaction_complete")),
            words: ("Betaling mottatt", "Du har mottatt 2 000 kr"),
            device: Device(
                subscription: "sub_0000000000000001",
                token: try #require(DeviceToken(validating: token)),
                platform: platform,
                provider: .fcm
            )
        )
    }

    /// Returns the plain message for an Apple device that is reached without FCM.
    static func apple(
        token: String = "00fc13adff785122",
        environment: PushEnvironment = .production,
        notification: UInt64 = 0xAB
    ) throws -> PushMessage {
        var message = try plain(.ios, token: token, notification: notification)
        message.device.provider = .apns
        message.device.environment = environment
        return message
    }

    /// Returns a message with every optional member.
    static func full(_ platform: DevicePlatform) throws -> PushMessage {
        var message = try plain(platform)
        message.targetID = "tx_rem_1"
        message.link = .init(
            web: "/transactions?id=tx_rem_1",
            mobile: "/transactions/tx_rem_1",
            scheme: "drop://transactions/tx_rem_1"
        )
        message.venueID = "42"
        message.imageURL = "https://cdn.example/a.png"
        message.metadata = ["matchId": "m-1"]
        message.data = ["amount": "2 000 kr", "count": 3, "paid": true, "nothing": .null, "parts": [1, ["b": "x"]]]
        message.priority = .high
        message.expiry = Timestamp(clamping: now.microseconds + 3_600_000_000)
        message.badge = 4
        message.presentation = PushPresentation(
            android: .init(
                channelID: "payments",
                visibility: .everything,
                importance: .high,
                sound: "ding",
                icon: "ic_pay",
                color: "#0B6E35"
            ),
            apple: .init(
                sound: "ding.caf",
                isMutable: true,
                category: "payment",
                thread: "payments",
                interruptionLevel: .timeSensitive
            )
        )
        return message
    }
}

/// The members of a body, found by their JSON pointer.
struct ReadBody {
    let root: JSONValue
    let byteCount: Int

    init(_ bytes: [UInt8]) throws {
        root = try JSONParser().parse(bytes).get()
        byteCount = bytes.count
    }

    subscript(pointer: String) -> JSONValue? {
        JSONPointer("/message\(pointer)").flatMap { $0.value(in: root) }
    }

    var data: [String: String] {
        let members = self["/data"]?.object?.members ?? []
        return Dictionary(members.map { ($0.key, $0.value.string ?? "?") }) { first, _ in first }
    }
}
