/// The period for which a notification is useful, such as `24h`.
public struct Lifetime: Hashable, Sendable {
    /// The required form of a lifetime.
    public static let rule = "a whole number with s, m, h or d, such as 90s or 24h, at most 365d"

    private static let longest: Int64 = 365 * 86_400

    /// The length in seconds, at least 1.
    public let seconds: Int64

    /// Creates a lifetime from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let digits = text.utf8.dropLast()
        guard let unit = text.last.flatMap({ units[$0] }), digits.allSatisfy(IdentifierRules.isDigit),
            let count = Int64(Substring(digits)), count >= 1, count <= Self.longest / unit
        else { return nil }
        seconds = count * unit
    }

    /// Returns the end of a lifetime that begins at an instant.
    public func end(from start: Timestamp) -> Timestamp {
        Timestamp(clamping: start.microseconds + seconds * 1_000_000)
    }
}

/// The handling of a push in a user's quiet hours; the in-app record is always written.
public enum QuietHoursPolicy: String, CaseIterable, Hashable, Sendable {
    /// The push waits until the quiet hours end or it expires.
    case `defer`
    /// The push is not sent.
    case drop
    /// The push is sent immediately.
    case bypass
}

/// The policies by platform.
public struct QuietHoursPolicies: Hashable, Sendable {
    let ios: QuietHoursPolicy
    let android: QuietHoursPolicy
    let web: QuietHoursPolicy

    /// The policy for one platform.
    public subscript(platform: DevicePlatform) -> QuietHoursPolicy {
        switch platform {
        case .ios: ios
        case .android: android
        case .web: web
        }
    }

    /// Chooses the first stated policy for each platform.
    ///
    /// Without one, the priority decides: `high` is sent immediately, and all others wait.
    init(_ stated: [[DevicePlatform: QuietHoursPolicy]], priority: Priority) {
        func first(_ platform: DevicePlatform) -> QuietHoursPolicy {
            for policies in stated { if let policy = policies[platform] { return policy } }
            return priority == .high ? .bypass : .defer
        }
        ios = first(.ios)
        android = first(.android)
        web = first(.web)
    }
}

/// The handling of several notifications of a type that reach one user within a short time.
public struct BurstPolicy: Hashable, Sendable {
    /// The period after a push in which further pushes wait.
    ///
    /// At its end, only the newest is sent.
    public let window: Lifetime

    /// The longest window in seconds.
    ///
    /// A digest is the better choice for longer waits.
    static let longest: Int64 = 3_600
    /// The required form of a window.
    static let rule = "a whole number with s, m or h, such as 60s, at most 1h"
}

/// The maximum number of individual low-priority pushes per user; further ones wait for the digest.
public struct PushCap: Hashable, Sendable {
    /// The maximum within any hour.
    public let perHour: Int
}

/// The times and texts of digests.
public struct DigestPolicy: Hashable, Sendable {
    /// The names that a digest's templates may use.
    ///
    /// `count` is the number of gathered notifications. `titles` is the first few different titles, separated by
    /// commas. `more` is the number of notifications whose titles are not shown.
    static let names = ["count", "titles", "more"]

    /// The times of day on the user's clock, in order; at least one.
    public let times: [LocalTime]
    /// The days of the week; every day if the catalogue names none.
    public let days: Set<Weekday>
    /// The maximum number of titles that the texts may repeat.
    public let titleCount: Int
    let words: LanguageSet
    let link: LinkTemplate?
}
