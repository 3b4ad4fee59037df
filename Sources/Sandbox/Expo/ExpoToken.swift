/// A push token of Expo, which also decides the outcome of its messages in the sandbox.
///
/// `ExponentPushToken[name]` (or `ExpoPushToken[name]`) belongs to the project `@sandbox/app`,
/// `ExponentPushToken[other:name]` to `@sandbox/other`. A bare UUID is also a token.
struct ExpoToken {
    let text: String
    /// A project such as `@sandbox/app`.
    let project: String
    /// The outcome that the beginning of the name requests; `nil` for a device that accepts messages.
    let fate: DeviceCondition?

    /// The outcome of a message to a device with a failure.
    enum DeviceCondition: Equatable {
        /// The ticket already reports the error.
        case ticket(String)
        /// Expo accepts the message, and the receipt reports the error.
        case receipt(String)
        /// The message never gets a receipt.
        case noReceipt
    }

    private static let fates: [(prefix: String, fate: DeviceCondition)] = [
        ("dead-", .ticket("DeviceNotRegistered")), ("gone-", .receipt("DeviceNotRegistered")),
        ("rate-", .receipt("MessageRateExceeded")), ("mismatch-", .receipt("MismatchSenderId")),
        ("credentials-", .receipt("InvalidCredentials")), ("provider-", .receipt("ProviderError")),
        ("silent-", .noReceipt),
    ]

    /// Returns `nil` for a text that is not a token of Expo.
    init?(_ text: String) {
        guard let inside = Self.inside(text) else { return nil }
        self.text = text
        let parts = inside.split(separator: ":", maxSplits: 1)
        let name = parts.count == 2 ? parts[1] : inside[...]
        project = "@sandbox/" + (parts.count == 2 ? String(parts[0]) : "app")
        fate = Self.fates.first { name.hasPrefix($0.prefix) }?.fate
    }

    /// Returns the text in the brackets, or the whole text if it is a UUID.
    private static func inside(_ text: String) -> String? {
        for opening in ["ExponentPushToken[", "ExpoPushToken["] where text.hasPrefix(opening) && text.hasSuffix("]") {
            let inside = text.dropFirst(opening.count).dropLast()
            let isPlain = inside.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "]") }
            return inside.isEmpty || !isPlain ? nil : String(inside)
        }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        let isUUID = groups.map(\.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
        return isUUID ? text : nil
    }
}
