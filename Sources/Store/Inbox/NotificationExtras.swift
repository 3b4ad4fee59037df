import BellhopRules
import Postgres

/// The fields of a notification in the column `extras`, which few notifications have.
///
/// Fields that most events have are separate columns. The collapse key is a column as well, since it is used to find the
/// user's newer notifications.
struct NotificationExtras {
    var imageURL: String?
    var expiresAt: Timestamp?
    var wideAudience: NotificationContent.WideAudience?
    var isNeverMailed = false
    var trace: TraceParent?

    init(of content: NotificationContent) {
        imageURL = content.texts[.imageURL]
        expiresAt = content.expiresAt
        wideAudience = content.wideAudience
        isNeverMailed = content.isNeverMailed
        trace = content.trace
    }

    /// Reads the column.
    ///
    /// Missing or invalid values count as absent.
    init(_ rows: Rows, _ row: Int, _ column: Column) throws(PostgresError) {
        guard let object = try rows.optionalObject(row, column) else { return }
        imageURL = Self.text(object[Key.imageURL])
        expiresAt = Self.text(object[Key.expiresAt]).flatMap(Timestamp.init(validating:))
        let topic = Self.text(object[Key.topic]).flatMap(Topic.init(validating:))
        let isForEveryone = object[Key.everyone] == .bool(true)
        wideAudience = topic.map(NotificationContent.WideAudience.topic) ?? (isForEveryone ? .everyone : nil)
        isNeverMailed = object[Key.noEmail] == .bool(true)
        trace = Self.text(object[Key.traceParent]).flatMap {
            TraceParent(validating: $0, state: Self.text(object[Key.traceState]))
        }
    }

    /// The JSON text for the column; `nil` if no field is set.
    var json: [UInt8]? {
        guard wideAudience != nil || isNeverMailed || imageURL != nil || expiresAt != nil || trace != nil else {
            return nil
        }
        var object = JSONObject()
        object[Key.imageURL] = imageURL.map(JSONValue.string)
        object[Key.expiresAt] = expiresAt.map { .string($0.description) }
        switch wideAudience {
        case .topic(let topic): object[Key.topic] = .string(topic.text)
        case .everyone: object[Key.everyone] = .bool(true)
        case nil: break
        }
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
