package import BellhopRules
import Postgres

/// What a push needs of an event beside what the inbox shows: kept with the notification, so that a retry or a replay
/// finds everything in the database.
package struct NotificationExtras: Hashable, Sendable {
    package var targetID: String?
    package var metadata = JSONObject()
    package var imageURL: String?
    package var collapseKey: String?
    package var expiresAt: Timestamp?
    /// When its source said it.
    package var sentAt: Timestamp?
    /// Whose followers it was for: how the user follows it is asked anew at every attempt.
    package var topic: Topic?
    /// Whether it was for everyone.
    package var isForEveryone = false
    /// Whether it is never sent by e-mail, whatever its type says.
    package var isNeverMailed = false
    /// The trace that its producer began, so that a later attempt is found in it, too.
    package var trace: TraceParent?

    /// Whether so many people may have it that each is followed on its own.
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

    /// From the columns `target_id`, `metadata`, `said_at`, `extras` and `collapse_key`, the first of which stands at `column`;
    /// whatever is missing or foreign counts as absent.
    ///
    /// What most events bring has a column of its own, and so has the collapse key: what is newer of a user is looked for
    /// by it.
    init(_ rows: Rows, _ row: Int, at column: Int) throws(PostgresError) {
        targetID = try rows.optionalText(row, .index(column))
        metadata = try rows.optionalObject(row, .index(column + 1)) ?? JSONObject()
        sentAt = try rows.timestamp(row, .index(column + 2))
        collapseKey = try rows.optionalText(row, .index(column + 4))
        guard let object = try rows.optionalObject(row, .index(column + 3)) else { return }
        imageURL = Self.text(object[Key.imageURL])
        expiresAt = Self.text(object[Key.expiresAt]).flatMap(Timestamp.init(validating:))
        topic = Self.text(object[Key.topic]).flatMap(Topic.init(validating:))
        isForEveryone = object[Key.everyone] == .bool(true)
        isNeverMailed = object[Key.noEmail] == .bool(true)
        trace = Self.text(object[Key.traceParent]).flatMap {
            TraceParent(validating: $0, state: Self.text(object[Key.traceState]))
        }
    }

    /// What has no column of its own, as JSON text; nil where there is nothing to keep.
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
        return object.jsonBytes
    }

    private static func text(_ value: JSONValue?) -> String? {
        guard case .string(let text)? = value else { return nil }
        return text
    }

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
