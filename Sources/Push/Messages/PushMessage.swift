package import BellhopRules

/// One notification on its way to one device: all that a provider's builder may look at.
///
/// It is rendered already: words in the reader's language, links filled. Copies share one object, since a message goes
/// through a dozen hands and has two dozen texts in it; changing one makes an object anew, so what is made for many goes
/// through ``Content``.
package struct PushMessage: Sendable {
    /// What a message is for.
    package enum Purpose: Hashable, Sendable {
        /// Words for a person.
        case alert
        /// Nothing but `badge`, for an app that shows a number: no words, no sound, nothing that wakes anybody.
        case badgeUpdate
    }

    /// What a message says, in one piece.
    package struct Content: Sendable {
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

        /// How much it matters to its reader.
        package var priority = Priority.normal

        /// From here on it must not be shown any more.
        ///
        /// The provider drops what it could not hand over by then.
        package var expiry: Timestamp?

        /// When its source said it.
        package var sentAt: Timestamp?

        /// How many notifications it stands for; nil where it is one.
        package var digestCount: Int?

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

    private final class Shared: Sendable {
        let content: Content

        init(_ content: Content) {
            self.content = content
        }
    }

    private var shared: Shared

    package init(_ content: Content) {
        shared = Shared(content)
    }

    package init(
        app: AppID,
        notification: NotificationID,
        type: EventType,
        words: (title: String, body: String),
        device: Device
    ) {
        self.init(Content(app: app, notification: notification, type: type, words: words, device: device))
    }
}

extension PushMessage {
    package var content: Content {
        get { shared.content }
        set { shared = Shared(newValue) }
    }

    package var app: AppID {
        get { shared.content.app }
        set { content.app = newValue }
    }

    package var purpose: Purpose {
        get { shared.content.purpose }
        set { content.purpose = newValue }
    }

    package var notification: NotificationID {
        get { shared.content.notification }
        set { content.notification = newValue }
    }

    package var type: EventType {
        get { shared.content.type }
        set { content.type = newValue }
    }

    package var title: String {
        get { shared.content.title }
        set { content.title = newValue }
    }

    package var body: String {
        get { shared.content.body }
        set { content.body = newValue }
    }

    package var data: JSONObject {
        get { shared.content.data }
        set { content.data = newValue }
    }

    package var metadata: JSONObject {
        get { shared.content.metadata }
        set { content.metadata = newValue }
    }

    package var targetID: String? {
        get { shared.content.targetID }
        set { content.targetID = newValue }
    }

    package var link: DeepLink? {
        get { shared.content.link }
        set { content.link = newValue }
    }

    package var venueID: String? {
        get { shared.content.venueID }
        set { content.venueID = newValue }
    }

    package var imageURL: String? {
        get { shared.content.imageURL }
        set { content.imageURL = newValue }
    }

    package var collapseKey: String? {
        get { shared.content.collapseKey }
        set { content.collapseKey = newValue }
    }

    package var priority: Priority {
        get { shared.content.priority }
        set { content.priority = newValue }
    }

    package var expiry: Timestamp? {
        get { shared.content.expiry }
        set { content.expiry = newValue }
    }

    package var sentAt: Timestamp? {
        get { shared.content.sentAt }
        set { content.sentAt = newValue }
    }

    package var digestCount: Int? {
        get { shared.content.digestCount }
        set { content.digestCount = newValue }
    }

    package var badge: Int? {
        get { shared.content.badge }
        set { content.badge = newValue }
    }

    package var presentation: PushPresentation {
        get { shared.content.presentation }
        set { content.presentation = newValue }
    }

    package var device: Device {
        get { shared.content.device }
        set { content.device = newValue }
    }

    /// How urgently the device is to take it: by the catalogue, else as much as it matters.
    package var urgency: Priority { presentation.urgency ?? priority }

    /// A notification that people see is every provider's urgent kind by default; only what has time says so.
    var isPatient: Bool { urgency == .low }
}
