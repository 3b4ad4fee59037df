package import BellhopRules

/// What one event says to each of its users: made once, and shared by the records of all of them.
package final class InboxWords: Sendable {
    package let app: AppID
    package let content: NotificationContent
    let contentHash: ContentHash
    /// JSON text.
    let data: [UInt8]?
    /// JSON text.
    let metadata: [UInt8]?
    /// JSON text: what only a push needs.
    let extras: [UInt8]?
    /// When its source said it; nil where it did not say.
    let saidAt: Timestamp?
    /// What it was made of.
    package let event: Event
    /// The route that leads elsewhere by now, where the event named it.
    package let reroutedFrom: String?
    /// About how many bytes a record of these words has in a statement.
    package let bytes: Int

    /// The words for readers of one language; nothing of them is pushed from `expiresAt` on.
    package init(
        event: Event,
        contentHash: ContentHash,
        rendered: RenderedContent,
        priority: Priority,
        expiresAt: Timestamp?
    ) {
        app = event.app
        content = NotificationContent(event: event, rendered: rendered, priority: priority, expiresAt: expiresAt)
        self.event = event
        reroutedFrom = rendered.reroutedFrom
        self.contentHash = contentHash
        data = content.data.isEmpty ? nil : content.data.jsonBytes
        metadata = content.extras.metadata.isEmpty ? nil : content.extras.metadata.jsonBytes
        extras = content.extras.json
        saidAt = event.sentAt
        let texts = content.title.utf8.count + content.body.utf8.count + (content.link?.byteCount ?? 0)
        bytes = [data, metadata, extras].reduce(texts) { $0 + ($1?.count ?? 0) }
    }
}

extension InboxWords {
    /// The same for readers of another language.
    package func translated(_ rendered: RenderedContent) -> InboxWords {
        InboxWords(
            event: event,
            contentHash: contentHash,
            rendered: rendered,
            priority: content.priority,
            expiresAt: content.extras.expiresAt
        )
    }
}

/// One notification about to be written: what one user shall find in the app because of one event.
package struct InboxRecord: Sendable {
    package var key: NotificationKey
    package var words: InboxWords
    /// The lines of the ledger that open together with it.
    package var deliveries: [OpeningDelivery]
    /// How the user follows the topic that the event is for; nil where it named its users, or everyone.
    package var follow: StoredFollow?
    /// Its place in the batch: the list in the app keeps the order of arrival.
    package var position = 0

    package init(_ words: InboxWords, for user: UserID, deliveries: [OpeningDelivery] = []) {
        self.words = words
        self.deliveries = deliveries
        key = NotificationKey(
            recipient: RecipientKey(app: words.app, user: user),
            notification: NotificationID(app: words.app, event: words.content.event, user: user)
        )
    }

    package var app: AppID { words.app }
    package var user: UserID { key.recipient.user }
    package var id: NotificationID { key.notification }
}

extension DeepLink {
    fileprivate var byteCount: Int { web.utf8.count + mobile.utf8.count + (scheme?.utf8.count ?? 0) }
}

extension JSONObject {
    /// The canonical text, as it is stored.
    var jsonBytes: [UInt8] { JSONWriter.canonicalBytes(of: .object(self)) }
}
