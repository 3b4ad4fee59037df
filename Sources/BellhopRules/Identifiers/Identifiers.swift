/// A validated identifier; every instance satisfies its rule.
///
/// Equality and hashing use UTF-8 bytes, as in the database: two encodings of one accented letter are two users.
public protocol TextIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The identifier's text.
    var text: String { get }
    /// The required form of the identifier, for messages such as `expected <rule>`.
    static var rule: String { get }
    /// Creates the value from text; `nil` if the text violates the rule.
    init?(validating text: String)
}

extension TextIdentifier {
    /// Compares the bytes for equality.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Compares the bytes for order.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The identifier's text.
    public var description: String { text }
}

/// The app of a message: the first part of its routing key and of every primary key.
public struct AppID: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "a lower-case letter, then at most 31 lower-case letters, digits, _ or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isAppName(text) else { return nil }
        self.text = text
    }
}

/// A user of an app, as the app identifies the user.
public struct UserID: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 255 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 255) else { return nil }
        self.text = text
    }
}

/// A producer's identifier of an event, unique within the app.
///
/// A repeated id means the same event.
public struct EventID: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 255 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: Self.longest) else { return nil }
        self.text = text
    }

    /// The maximum number of bytes.
    static let longest = 255

    /// Creates the value from a text that was validated before.
    init(validated text: String) { self.text = text }
}

/// The kind of an event, such as `transaction_complete`: the rest of the routing key after the app.
public struct EventType: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 64 letters, digits, _, . or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTypeName(text, longest: 64) else { return nil }
        self.text = text
    }

    /// The type of the message that cancels an event, available in every app.
    public static let cancellation = "event.cancelled"

    /// Returns whether every app has this type, so that no catalogue may describe it.
    package static func isReserved(_ name: String) -> Bool {
        FeedType(rawValue: name) != nil || name == cancellation
    }
}

/// The types of messages that change users' data; available in every app, and in no catalogue.
public enum FeedType: String, CaseIterable, Hashable, Sendable {
    /// A user is new or has changed.
    case recipientUpserted = "recipient.upserted"
    /// A user is deleted, together with all of the user's rows.
    case recipientDeleted = "recipient.deleted"
    /// A device can be reached.
    case subscriptionUpserted = "subscription.upserted"
    /// A device must no longer be reached.
    case subscriptionRevoked = "subscription.revoked"
    /// A user follows a topic.
    case followAdded = "follow.added"
    /// A user no longer follows a topic.
    case followRemoved = "follow.removed"
    /// A reminder is new or has changed.
    case reminderSet = "reminder.set"
    /// A reminder is removed.
    case reminderRemoved = "reminder.removed"
    /// A user has read notifications in an app whose inbox is outside Bellhop.
    case notificationRead = "notification.read"
}

/// A topic that users follow, such as `venue:42`.
public struct Topic: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 255 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 255) else { return nil }
        self.text = text
    }
}

/// The role in which a user follows a topic, such as `owner`.
public struct FollowRole: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 64 letters, digits, _, . or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTypeName(text, longest: 64) else { return nil }
        self.text = text
    }
}

/// The identifier of a reminder, unique within the user.
public struct ReminderID: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 255 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 255) else { return nil }
        self.text = text
    }
}

/// A device's push address as its provider issued it; a secret that is never logged.
public struct DeviceToken: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 4096 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 4096) else { return nil }
        self.text = text
    }
}

/// An e-mail address, validated by its form alone.
///
/// It cannot contain characters that could begin a new mail header.
public struct EmailAddress: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "at most 254 bytes: a local part without %, ! and spaces, one @, a domain name with a dot"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isEmailAddress(text) else { return nil }
        self.text = text
    }
}

/// A language such as `nb` or `sv-SE`, in its usual spelling.
///
/// Other spellings of the source (`SV_se`) are converted.
public struct LanguageTag: TextIdentifier {
    /// The tag: language in lower case, region in capitals, parts joined by hyphens.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "a language tag such as nb or sv-SE, at most 35 characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard !IdentifierRules.isPlainLanguage(text) else {
            self.text = text
            return
        }
        guard IdentifierRules.isLanguageTag(text) else { return nil }
        let parts = text.split { $0 == "-" || $0 == "_" }
        let spelled = parts.enumerated().map { index, part in
            index > 0 && part.utf8.count == 2 ? part.uppercased() : part.lowercased()
        }
        self.text = spelled.joined(separator: "-")
    }

    /// The language without region: `sv` of `sv-SE`.
    var language: Substring { text.prefix { $0 != "-" } }
}

/// The name of a zone such as `Europe/Oslo`, validated by its form.
///
/// The tz database is consulted only where the zone is used.
public struct TimeZoneName: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "an IANA zone name such as Europe/Oslo, at most 64 characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTimeZoneName(text) else { return nil }
        self.text = text
    }
}
