import BellhopRules
import Push
import Store

extension PushMessage {
    /// Creates the push of a notification for a device.
    ///
    /// It is the same at each attempt, except the number of unread notifications.
    init(
        _ key: NotificationKey,
        _ content: NotificationContent,
        _ type: CatalogType,
        to device: Device,
        unread: Int?
    ) {
        var message = Content(
            app: key.recipient.app,
            notification: key.notification,
            type: content.type,
            words: (title: content.title, body: content.body),
            device: device
        )
        message.data = content.data
        message.metadata = content.extras.metadata
        message.targetID = content.extras.targetID
        message.link = content.link
        message.venueID = content.venueID
        message.imageURL = content.extras.imageURL
        message.collapseKey = content.extras.collapseKey
        message.priority = content.priority
        message.expiry = content.extras.expiresAt
        message.sentAt = content.extras.sentAt
        message.badge = type.badgePlatforms.contains(device.platform) ? unread : nil
        message.presentation = PushPresentation(type)
        self.init(message)
    }
}

extension EmailMessage {
    /// Creates the mail of a notification; `nil` if the user has no address.
    init?(_ key: NotificationKey, _ content: NotificationContent, _ recipient: Recipient, _ catalog: Catalog) {
        guard let address = recipient.email else { return nil }
        let language = recipient.locale.flatMap { catalog.language(of: content.type, for: $0) } ?? catalog.language
        self.init(
            app: key.recipient.app,
            user: key.recipient.user,
            notification: key.notification,
            type: content.type,
            address: address,
            words: (language: language, title: content.title, body: content.body)
        )
        webPath = content.link?.web
    }
}
