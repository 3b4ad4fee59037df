package import BellhopRules

/// One notification on its way to one device: all that a provider's builder may look at.
///
/// It is rendered already: words in the reader's language, links filled.
package struct PushMessage: Sendable {
    /// What a message is for.
    package enum Purpose: Hashable, Sendable {
        /// Words for a person.
        case alert
        /// Nothing but `badge`, for an app that shows a number: no words, no sound, nothing that wakes anybody.
        case badgeUpdate
    }

    package var app: AppID

    package var purpose = Purpose.alert

    /// The same for every repeat, which is what lets a device show a repeat once.
    package var notification: NotificationID

    package var type: EventType

    /// Never empty, but in a badge update, which has no words.
    package var title: String

    /// May be empty.
    package var body: String

    /// Values for the client, as the event brought them.
    package var data = JSONObject()

    /// Strings for the client.
    package var metadata = JSONObject()

    package var targetID: String?
    /// Where a tap leads, per kind of client.
    package var link: DeepLink?
    package var venueID: String?
    package var imageURL: String?

    /// Notifications with the same key replace one another on a device.
    package var collapseKey: String?

    package var priority = Priority.normal

    /// From here on it must not be shown any more.
    ///
    /// The provider drops what it could not hand over by then.
    package var expiry: Timestamp?

    /// The number on the app's icon; nil leaves it as it is.
    package var badge: Int?

    package var presentation = PushPresentation()

    package var device: Device

    package init(
        app: AppID,
        notification: NotificationID,
        type: EventType,
        words: (title: String, body: String),
        device: Device
    ) {
        self.app = app
        self.notification = notification
        self.type = type
        title = words.title
        body = words.body
        self.device = device
    }
}
