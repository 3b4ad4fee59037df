/// A push token of Expo's, and what it says of its device here.
///
/// `ExponentPushToken[name]` (or `ExpoPushToken[name]`) is of the project `@sandbox/app`, `ExponentPushToken[other:name]`
/// of `@sandbox/other`. A bare UUID is a token, too.
struct ExpoToken {
    let text: String
    /// Such as `@sandbox/app`.
    let project: String
    /// What the beginning of its name says becomes of a message; nil for a device that is well.
    let fate: Fate?

    /// What becomes of a message to a device that is not well.
    enum Fate: Equatable {
        /// The ticket says so at once.
        case ticket(String)
        /// Expo takes the message, and the receipt says so.
        case receipt(String)
        /// There never is a receipt.
        case noReceipt
    }

    private static let fates: [(prefix: String, fate: Fate)] = [
        ("dead-", .ticket("DeviceNotRegistered")), ("gone-", .receipt("DeviceNotRegistered")),
        ("rate-", .receipt("MessageRateExceeded")), ("mismatch-", .receipt("MismatchSenderId")),
        ("credentials-", .receipt("InvalidCredentials")), ("provider-", .receipt("ProviderError")),
        ("silent-", .noReceipt),
    ]

    /// Nil for what is no token of Expo's.
    init?(_ text: String) {
        guard let inside = Self.inside(text) else { return nil }
        self.text = text
        let parts = inside.split(separator: ":", maxSplits: 1)
        let name = parts.count == 2 ? parts[1] : inside[...]
        project = "@sandbox/" + (parts.count == 2 ? String(parts[0]) : "app")
        fate = Self.fates.first { name.hasPrefix($0.prefix) }?.fate
    }

    /// What stands in the brackets, or the whole of a UUID.
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
