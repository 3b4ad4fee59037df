package import BellhopRules

/// What one event says to each of its users: made once, written for every one of them.
package struct InboxWords: Sendable {
    let app: AppID
    let event: EventID
    let type: EventType
    let contentHash: ContentHash
    let title: String
    let body: String
    let priority: Priority
    let venueID: String?
    /// JSON text.
    let link: [UInt8]?
    /// JSON text.
    let data: [UInt8]?
    /// JSON text: what only a push needs.
    let extras: [UInt8]?
    /// When its source said it; nil where it did not say.
    let saidAt: Timestamp?

    package init(event: Event, contentHash: ContentHash, content: RenderedContent, priority: Priority) {
        app = event.app
        self.event = event.id
        type = event.type
        self.contentHash = contentHash
        title = content.title
        body = content.body
        self.priority = priority
        venueID = event.content.venueID
        link = content.link.map { $0.json.jsonBytes }
        data = event.content.data.isEmpty ? nil : event.content.data.jsonBytes
        extras = NotificationExtras(event).json
        saidAt = event.sentAt
    }
}

/// One notification about to be written: what one user shall find in the app because of one event.
package struct InboxRecord: Sendable {
    package let id: NotificationID
    package let user: UserID
    /// The lines of the ledger that open together with it.
    package var deliveries: [OpeningDelivery]
    let words: InboxWords

    package init(_ words: InboxWords, for user: UserID, deliveries: [OpeningDelivery] = []) {
        self.words = words
        self.user = user
        self.deliveries = deliveries
        id = NotificationID(app: words.app, event: words.event, user: user)
    }

    package var app: AppID { words.app }
    package var event: EventID { words.event }
    package var type: EventType { words.type }

    package var key: NotificationKey {
        NotificationKey(recipient: RecipientKey(app: app, user: user), notification: id)
    }
}

extension JSONObject {
    /// The canonical text, as it is stored.
    var jsonBytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.write(self, into: &bytes)
        return bytes
    }
}
