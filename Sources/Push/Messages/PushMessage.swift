package import BellhopRules

/// One notification for one device: all data that a provider's builder uses.
///
/// It is already rendered, with texts in the user's language and complete links. Copies share one object, because a
/// message passes through about a dozen steps. Its texts are those of the notification, and builders write them from
/// ``texts``. Every change of a copy creates a new object; messages that differ from their notification are prepared as
/// ``Content``.
package struct PushMessage: Sendable {
    /// The purpose of a message.
    package enum Purpose: Hashable, Sendable {
        /// A visible notification.
        case alert
        /// A badge update with nothing but `badge`, for an app that shows a number: no texts, no sound and no alert.
        case badgeUpdate
    }

    /// The content of a message with its texts as strings, for messages that differ from a notification.
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
        let app: AppID
        let purpose: Purpose
        let notification: NotificationID
        let content: NotificationContent
        let digestCount: Int?
        let badge: Int?
        let presentation: PushPresentation
        let device: Device

        init(_ content: Content) {
            app = content.app
            purpose = content.purpose
            notification = content.notification
            self.content = NotificationContent(content)
            digestCount = content.digestCount
            badge = content.badge
            presentation = content.presentation
            device = content.device
        }

        init(
            _ app: AppID,
            _ id: NotificationID,
            _ content: NotificationContent,
            _ type: CatalogType,
            _ device: Device,
            badge: Int?
        ) {
            self.app = app
            purpose = .alert
            notification = id
            self.content = content
            digestCount = nil
            self.badge = badge
            presentation = PushPresentation(type)
            self.device = device
        }
    }

    private var shared: Shared

    package init(_ content: Content) { shared = Shared(content) }

    /// Creates the push of a recorded notification.
    package init(
        app: AppID,
        notification: NotificationID,
        content: NotificationContent,
        type: CatalogType,
        device: Device,
        badge: Int?
    ) {
        shared = Shared(app, notification, content, type, device, badge: badge)
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

extension NotificationContent {
    /// Creates the content of a message that was written for the push alone.
    fileprivate convenience init(_ content: PushMessage.Content) {
        var texts = NotificationTexts.Builder()
        texts.set(.title, content.title)
        texts.set(.body, content.body)
        texts.set(content.link)
        texts.set(.data, CanonicalObject(content.data))
        texts.set(.targetID, content.targetID)
        texts.set(.metadata, content.metadata)
        texts.set(.venueID, content.venueID)
        texts.set(.imageURL, content.imageURL)
        texts.set(.collapseKey, content.collapseKey)
        self.init(
            content.type,
            content.priority,
            texts.finished(),
            expiresAt: content.expiry,
            sentAt: content.sentAt
        )
    }
}

extension PushMessage {
    /// The content with its texts as strings; a change of it creates a new message.
    package var content: Content {
        get {
            let words = shared.content
            var content = Content(
                app: app,
                notification: notification,
                type: words.type,
                words: (title: words.title, body: words.body),
                device: device
            )
            content.purpose = purpose
            content.data = words.data
            content.metadata = CanonicalObject(words.metadata)
            content.targetID = words.texts[.targetID]
            content.link = words.link
            content.venueID = words.texts[.venueID]
            content.imageURL = words.texts[.imageURL]
            content.collapseKey = words.collapseKey
            content.priority = words.priority
            content.expiry = words.expiresAt
            content.sentAt = words.sentAt
            content.digestCount = digestCount
            content.badge = badge
            content.presentation = presentation
            return content
        }
        set { shared = Shared(newValue) }
    }

    /// The texts, for builders.
    var texts: NotificationTexts { shared.content.texts }

    package var app: AppID {
        get { shared.app }
        set { content.app = newValue }
    }

    package var purpose: Purpose {
        get { shared.purpose }
        set { content.purpose = newValue }
    }

    package var notification: NotificationID {
        get { shared.notification }
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
        get { CanonicalObject(shared.content.metadata) }
        set { content.metadata = newValue }
    }

    package var targetID: String? {
        get { texts[.targetID] }
        set { content.targetID = newValue }
    }

    package var link: DeepLink? {
        get { shared.content.link }
        set { content.link = newValue }
    }

    package var venueID: String? {
        get { texts[.venueID] }
        set { content.venueID = newValue }
    }

    package var imageURL: String? {
        get { texts[.imageURL] }
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
        get { shared.content.expiresAt }
        set { content.expiry = newValue }
    }

    package var sentAt: Timestamp? {
        get { shared.content.sentAt }
        set { content.sentAt = newValue }
    }

    package var digestCount: Int? {
        get { shared.digestCount }
        set { content.digestCount = newValue }
    }

    package var badge: Int? {
        get { shared.badge }
        set { content.badge = newValue }
    }

    package var presentation: PushPresentation {
        get { shared.presentation }
        set { content.presentation = newValue }
    }

    package var device: Device {
        get { shared.device }
        set { content.device = newValue }
    }

    /// The id of the device's subscription.
    package var subscription: String { shared.device.subscription }
    /// The token of the device.
    var token: String { shared.device.token.text }
    /// The provider of the device.
    package var provider: PushProvider { shared.device.provider }
    /// The platform of the device.
    package var platform: DevicePlatform { shared.device.platform }
    /// Whether the device is a reached device.
    package var wasReached: Bool { shared.device.wasReached }

    /// The urgency on the device: the catalogue's value, or else the priority.
    package var urgency: Priority { shared.presentation.urgency ?? priority }
    /// The fields for the client, with their names.
    var clientNames: ClientNames { shared.presentation.clientNames }
    /// The options for Android.
    var android: AndroidPresentation { shared.presentation.android }
    /// The options for Apple's systems.
    var apple: ApplePresentation { shared.presentation.apple }

    /// Whether the message may be delayed.
    ///
    /// Every provider treats a visible notification as urgent by default, so only messages of low urgency are marked.
    var isPatient: Bool { urgency == .low }
}
