/// The content of a notification that is about to be written, or was read from the database.
///
/// It is a class, since every stage of a batch passes it on.
package final class NotificationContent: Sendable {
    package let type: EventType
    package let priority: Priority
    package let texts: NotificationTexts
    /// The instant from which it is no longer pushed.
    package let expiresAt: Timestamp?
    /// The source timestamp.
    package let sentAt: Timestamp?
    /// The topic or everyone for whom the event was; `nil` if it named its users.
    package let wideAudience: WideAudience?
    /// Whether the event is never sent by e-mail, regardless of its type.
    package let isNeverMailed: Bool
    /// The producer's trace, so that later attempts are part of it.
    package let trace: TraceParent?

    /// A large audience, which is tracked as a fan-out.
    package enum WideAudience: Hashable, Sendable {
        /// The followers of a topic; the user's follow is read again at every attempt.
        case topic(Topic)
        case everyone
    }

    package init(
        _ type: EventType,
        _ priority: Priority,
        _ texts: NotificationTexts,
        expiresAt: Timestamp? = nil,
        sentAt: Timestamp? = nil,
        wideAudience: WideAudience? = nil,
        isNeverMailed: Bool = false,
        trace: TraceParent? = nil
    ) {
        self.type = type
        self.priority = priority
        self.texts = texts
        self.expiresAt = expiresAt
        self.sentAt = sentAt
        self.wideAudience = wideAudience
        self.isNeverMailed = isNeverMailed
        self.trace = trace
    }

    /// Creates the content of an event.
    ///
    /// Nothing of it is pushed from `expiresAt` on.
    package convenience init(event: Event, rendered: RenderedContent, priority: Priority, expiresAt: Timestamp?) {
        let content = event.content
        var texts = NotificationTexts.Builder()
        texts.set(.event, event.id.text)
        texts.set(.title, rendered.title)
        texts.set(.body, rendered.body)
        texts.set(rendered.link)
        texts.set(.venueID, content.venueID)
        texts.set(.targetID, content.targetID)
        texts.set(.imageURL, content.imageURL)
        texts.set(.collapseKey, content.collapseKey)
        event.data?.withUnsafeBufferPointer { texts.set(.data, $0) }
        texts.set(.metadata, content.metadata)
        let wideAudience: WideAudience? =
            switch event.audience {
            case .topic(let topic): .topic(topic)
            case .everyone: .everyone
            case .users: nil
            }
        self.init(
            event.type,
            priority,
            texts.finished(),
            expiresAt: expiresAt,
            sentAt: event.sentAt,
            wideAudience: wideAudience,
            isNeverMailed: content.isNeverMailed,
            trace: event.traceParent
        )
    }
}

extension NotificationTexts.Builder {
    package mutating func set(_ link: DeepLink?) {
        guard let link else { return }
        set(.webLink, link.web)
        set(.mobileLink, link.mobile)
        set(.schemeLink, link.scheme)
    }

    /// Adds an object, unless it has no members.
    package mutating func set(_ field: NotificationTexts.Field, _ object: CanonicalObject?) {
        guard let object, !object.isEmpty else { return }
        object.bytes.withUnsafeBufferPointer { set(field, $0) }
    }
}

/// The texts as strings, for everything that is not done for each notification.
extension NotificationContent {
    /// The event's id; empty for a push without an event.
    package var event: EventID { EventID(validated: texts[.event] ?? "") }
    package var title: String { texts[.title] ?? "" }
    package var body: String { texts[.body] ?? "" }
    /// The destination of a tap.
    package var link: DeepLink? {
        guard let web = texts[.webLink], let mobile = texts[.mobileLink] else { return nil }
        return DeepLink(web: web, mobile: mobile, scheme: texts[.schemeLink])
    }
    package var data: JSONObject { object(.data) }
    package var metadata: JSONObject { object(.metadata) }
    package var collapseKey: String? { texts[.collapseKey] }

    /// The topic whose followers the event was for.
    package var topic: Topic? { if case .topic(let topic)? = wideAudience { topic } else { nil } }
    /// Whether the event has a large audience, which is tracked as a fan-out.
    package var isWide: Bool { wideAudience != nil }

    private func object(_ field: NotificationTexts.Field) -> JSONObject {
        texts.with(field) { text in
            guard let text, case .success(.object(let object)) = JSONParser(limits: .work).parse(Array(text)) else {
                return JSONObject()
            }
            return object
        }
    }
}
