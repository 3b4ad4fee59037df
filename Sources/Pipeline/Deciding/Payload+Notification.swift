import BellhopRules
import Push
import Store

extension Payload {
    /// Creates the push or the mail of a claimed delivery.
    init(
        _ route: DeliveryRuling.Route,
        _ key: NotificationKey,
        _ content: NotificationContent,
        _ type: CatalogType,
        unread: Int?
    ) {
        switch route {
        case .push(let device): self = .push(PushMessage(key, content, type, to: device, unread: unread))
        case .mail(let address, let language): self = .mail(EmailMessage(key, content, to: address, in: language))
        }
    }
}

extension DeliveryKey {
    init(_ notification: NotificationKey, _ payload: Payload) {
        switch payload {
        case .push(let message): self.init(notification: notification, channel: .push, target: message.subscription)
        case .mail: self.init(notification: notification, channel: .email, target: NewDelivery.mailbox)
        }
    }
}

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
        self.init(
            app: key.recipient.app,
            notification: key.notification,
            content: content,
            type: type,
            device: device,
            badge: unread.flatMap { type.badgePlatforms.contains(device.platform) ? $0 : nil }
        )
    }
}

extension EmailMessage {
    /// Creates the mail of a notification.
    init(
        _ key: NotificationKey,
        _ content: NotificationContent,
        to address: EmailAddress,
        in language: LanguageTag
    ) {
        self.init(
            app: key.recipient.app,
            user: key.recipient.user,
            notification: key.notification,
            type: content.type,
            address: address,
            words: (language: language, title: content.title, body: content.body)
        )
        webPath = content.texts[.webLink]
    }
}
