package import BellhopRules
import Postgres

/// The fields of an event that a push needs and the inbox does not show.
///
/// They are stored with the notification, so that a retry or a replay reads everything from the database.
package struct NotificationExtras: Hashable, Sendable {
    package var targetID: String?
    package var metadata = CanonicalObject.empty
    package var imageURL: String?
    package var collapseKey: String?
    package var expiresAt: Timestamp?
    /// The source timestamp.
    package var sentAt: Timestamp?
    /// The topic whose followers the event was for.
    ///
    /// The user's follow is read again at every attempt.
    package var topic: Topic?
    /// Whether the event was for everyone.
    package var isForEveryone = false
    /// Whether the event is never sent by e-mail, regardless of its type.
    package var isNeverMailed = false
    /// The producer's trace, so that later attempts are part of it.
    package var trace: TraceParent?

    /// Whether the event has a large audience, which is tracked as a fan-out.
    package var isWide: Bool { topic != nil || isForEveryone }

    package init(_ event: Event, expiresAt: Timestamp?) {
        let content = event.content
        targetID = content.targetID
        metadata = content.metadata
        imageURL = content.imageURL
        collapseKey = content.collapseKey
        switch event.audience {
        case .topic(let topic): self.topic = topic
        case .everyone: isForEveryone = true
        case .users: break
        }
        isNeverMailed = content.isNeverMailed
        trace = event.traceParent
        self.expiresAt = expiresAt
        sentAt = event.sentAt
    }

    /// Creates extras from the columns `target_id`, `metadata`, `said_at`, `extras` and `collapse_key`, beginning at
    /// `column`.
    ///
    /// Missing or invalid values count as absent.
    ///
    /// Fields that most events have are separate columns. The collapse key is a column as well, since it is used to
    /// find the user's newer notifications.
    init(_ rows: Rows, _ row: Int, at column: Int) throws(PostgresError) {
        targetID = try rows.optionalText(row, .index(column))
        metadata = try rows.canonicalObject(row, .index(column + 1)) ?? .empty
        sentAt = try rows.timestamp(row, .index(column + 2))
        collapseKey = try rows.optionalText(row, .index(column + 4))
        guard let object = try rows.optionalObject(row, .index(column + 3)) else { return }
        (imageURL, expiresAt) = Self.shown(object)
        topic = Self.text(object[Key.topic]).flatMap(Topic.init(validating:))
        isForEveryone = object[Key.everyone] == .bool(true)
        isNeverMailed = object[Key.noEmail] == .bool(true)
        trace = Self.text(object[Key.traceParent]).flatMap {
            TraceParent(validating: $0, state: Self.text(object[Key.traceState]))
        }
    }

    /// Reads the fields of the column `extras` that the inbox shows.
    static func shown(
        _ rows: Rows,
        _ row: Int,
        _ column: Column
    ) throws(PostgresError) -> (imageURL: String?, expiresAt: Timestamp?) {
        try rows.optionalObject(row, column).map(shown) ?? (nil, nil)
    }

    private static func shown(_ object: JSONObject) -> (imageURL: String?, expiresAt: Timestamp?) {
        (text(object[Key.imageURL]), text(object[Key.expiresAt]).flatMap(Timestamp.init(validating:)))
    }

    /// The fields without a separate column, as JSON text; `nil` if none is set.
    var json: [UInt8]? {
        guard isWide || isNeverMailed || imageURL != nil || expiresAt != nil || trace != nil else { return nil }
        var object = JSONObject()
        object[Key.imageURL] = imageURL.map(JSONValue.string)
        object[Key.expiresAt] = expiresAt.map { .string($0.description) }
        object[Key.topic] = topic.map { .string($0.text) }
        object[Key.everyone] = isForEveryone ? .bool(true) : nil
        object[Key.noEmail] = isNeverMailed ? .bool(true) : nil
        object[Key.traceParent] = (trace?.text).map(JSONValue.string)
        object[Key.traceState] = (trace?.state).map(JSONValue.string)
        return object.canonicalBytes
    }

    private static func text(_ value: JSONValue?) -> String? {
        guard case .string(let text)? = value else { return nil }
        return text
    }

    /// The members of the JSON object.
    private enum Key {
        static let imageURL = "imageUrl"
        static let expiresAt = "expiresAt"
        static let topic = "topic"
        static let everyone = "everyone"
        static let noEmail = "noEmail"
        static let traceParent = "traceparent"
        static let traceState = "tracestate"
    }
}

extension JSONObject {
    /// The approximate size of the members in memory, in bytes.
    ///
    /// A number of one digit takes as much as a string of 15 bytes.
    var footprint: Int {
        members.reduce(0) { $0 + $1.key.footprint + $1.value.footprint }
    }
}

extension JSONValue {
    /// Twice the inline size, since arrays grow by doubling, and the size of the allocated contents.
    fileprivate var footprint: Int {
        let place = 2 * MemoryLayout<JSONValue>.stride
        return switch self {
        case .null, .bool: place
        case .number(let number): place + number.text.footprint
        case .string(let text): place + text.footprint
        case .array(let elements): elements.reduce(place) { $0 + $1.footprint }
        case .object(let object): place + object.footprint
        }
    }
}

extension String {
    /// Short strings are stored inline.
    fileprivate var footprint: Int { utf8.count > 15 ? 32 + utf8.count : 0 }
}
