package import BellhopRules

/// What a notification says, whether it is about to be written or comes back from the database.
package struct NotificationContent: Sendable {
    package var event: EventID
    package var type: EventType
    package var title: String
    package var body: String
    package var priority: Priority
    package var venueID: String?
    /// Where a tap leads: `{"web": …, "mobile": …}`.
    package var link: JSONObject?
    package var data: JSONObject
    package var extras: NotificationExtras

    package init(event: Event, rendered: RenderedContent, priority: Priority) {
        self.event = event.id
        type = event.type
        title = rendered.title
        body = rendered.body
        self.priority = priority
        venueID = event.content.venueID
        link = rendered.link?.json
        data = event.content.data
        extras = NotificationExtras(event)
    }

    init(
        event: EventID,
        type: EventType,
        words: (title: String, body: String),
        priority: Priority
    ) {
        self.event = event
        self.type = type
        title = words.title
        body = words.body
        self.priority = priority
        data = JSONObject()
        extras = NotificationExtras(json: nil)
    }
}
