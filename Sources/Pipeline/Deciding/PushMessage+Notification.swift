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
