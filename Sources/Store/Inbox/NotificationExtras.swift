package import BellhopRules

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
        trace = event.traceParent
        self.expiresAt = expiresAt
        sentAt = event.sentAt
    }

    /// Reads what ``json`` wrote; whatever is missing or foreign counts as absent.
    ///
    /// The collapse key is a column of its own: what is newer of a user is looked for by it.
    package init(json: [UInt8]?, collapseKey: String?) {
        self.collapseKey = collapseKey
        guard let json, case .success(.object(let object)) = JSONParser(limits: .event).parse(json) else { return }
        targetID = Self.text(object[Key.targetID])
        if case .object(let metadata)? = object[Key.metadata] { self.metadata = metadata }
        imageURL = Self.text(object[Key.imageURL])
        expiresAt = Self.text(object[Key.expiresAt]).flatMap(Timestamp.init(validating:))
        sentAt = Self.text(object[Key.sentAt]).flatMap(Timestamp.init(validating:))
        topic = Self.text(object[Key.topic]).flatMap(Topic.init(validating:))
        isForEveryone = object[Key.everyone] == .bool(true)
        trace = Self.text(object[Key.traceParent]).flatMap {
            TraceParent(validating: $0, state: Self.text(object[Key.traceState]))
        }
    }

    /// JSON text; nil where there is nothing to keep.
    var json: [UInt8]? {
        var object = JSONObject()
        object[Key.targetID] = targetID.map(JSONValue.string)
        object[Key.metadata] = metadata.isEmpty ? nil : .object(metadata)
        object[Key.imageURL] = imageURL.map(JSONValue.string)
        object[Key.expiresAt] = expiresAt.map { .string($0.description) }
        object[Key.sentAt] = sentAt.map { .string($0.description) }
        object[Key.topic] = topic.map { .string($0.text) }
        object[Key.everyone] = isForEveryone ? .bool(true) : nil
        object[Key.traceParent] = (trace?.text).map(JSONValue.string)
        object[Key.traceState] = (trace?.state).map(JSONValue.string)
        return object.isEmpty ? nil : object.jsonBytes
    }

    private static func text(_ value: JSONValue?) -> String? {
        guard case .string(let text)? = value else { return nil }
        return text
    }

    private enum Key {
        static let targetID = "targetId"
        static let metadata = "metadata"
        static let imageURL = "imageUrl"
        static let expiresAt = "expiresAt"
        static let sentAt = "sentAtIso"
        static let topic = "topic"
        static let everyone = "everyone"
        static let traceParent = "traceparent"
        static let traceState = "tracestate"
    }
}
