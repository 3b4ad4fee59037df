package import BellhopRules

/// One notification for one device: all data that a provider's builder uses.
///
/// It is already rendered, with texts in the user's language and complete links. Copies share one object, because a
/// message passes through about a dozen steps and has about two dozen texts. Every change of a copy creates a new
/// object, so code that prepares many messages uses ``Content``.
package struct PushMessage: Sendable {
    /// The purpose of a message.
    package enum Purpose: Hashable, Sendable {
        /// A visible notification.
        case alert
        /// A badge update with nothing but `badge`, for an app that shows a number: no texts, no sound and no alert.
        case badgeUpdate
    }

    /// The content of a message, in one value.
    package struct Content: Sendable {
        package var app: AppID

        package var purpose = Purpose.alert

        /// The notification's id, the same for every repeat, so that a device shows a repeat only once.
        package var notification: NotificationID

        package var type: EventType

        /// The title; never empty, except in a badge update, which has no texts.
        package var title: String

        /// The body; may be empty.
        package var body: String

        /// The values for the client, unchanged from the event.
        package var data = JSONObject()

        /// Strings for the client.
        package var metadata = CanonicalObject.empty

        package var targetID: String?
        /// The target of a tap, by kind of client.
        package var link: DeepLink?
        package var venueID: String?
        package var imageURL: String?

        /// The key by which notifications replace one another on a device.
        package var collapseKey: String?

        /// The priority of the notification.
        package var priority = Priority.normal

        /// The instant from which it must not be shown.
        ///
        /// The provider discards a message that it could not deliver by then.
        package var expiry: Timestamp?

        /// The source time of the event.
        package var sentAt: Timestamp?

        /// The number of notifications in a digest; `nil` for a single notification.
        package var digestCount: Int?

        /// The badge of the app's icon; `nil` leaves it unchanged.
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

        init(_ content: Content) { self.content = content }
    }

    private var shared: Shared

    package init(_ content: Content) { shared = Shared(content) }

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

    package var metadata: CanonicalObject {
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

    /// The provider of the device.
    package var provider: PushProvider { shared.content.device.provider }
    /// The platform of the device.
    package var platform: DevicePlatform { shared.content.device.platform }
    /// Whether the device is a reached device.
    package var wasReached: Bool { shared.content.device.wasReached }

    /// The urgency on the device: the catalogue's value, or else the priority.
    package var urgency: Priority { presentation.urgency ?? priority }

    /// Whether the message may be delayed.
    ///
    /// Every provider treats a visible notification as urgent by default, so only messages of low urgency are marked.
    var isPatient: Bool { urgency == .low }
}
