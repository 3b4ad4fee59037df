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
        saidAt = event.sentAt
    }
}

/// One notification about to be written: what one user shall find in the app because of one event.
package struct InboxRecord: Sendable {
    package let id: NotificationID
    package let user: UserID
    let words: InboxWords

    package init(_ words: InboxWords, for user: UserID) {
        self.words = words
        self.user = user
        id = NotificationID(app: words.app, event: words.event, user: user)
    }

    package var app: AppID { words.app }
    package var event: EventID { words.event }
    package var type: EventType { words.type }
}

extension JSONObject {
    /// The canonical text, as it is stored.
    var jsonBytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.write(self, into: &bytes)
        return bytes
    }
}
