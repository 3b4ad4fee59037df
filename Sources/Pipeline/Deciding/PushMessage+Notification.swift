import BellhopRules
import Push
import Store

extension PushMessage {
    /// What a device gets of a notification; the same at the first attempt and at every later one, but for the number of
    /// what is unread then.
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
            type: content.type,
            words: (title: content.title, body: content.body),
            device: device
        )
        data = content.data
        metadata = content.extras.metadata
        targetID = content.extras.targetID
        link = content.link.flatMap(DeepLink.init)
        venueID = content.venueID
        imageURL = content.extras.imageURL
        collapseKey = content.extras.collapseKey
        priority = content.priority
        expiry = content.extras.expiresAt
        badge = type.setsBadge && device.platform == .ios ? unread : nil
        presentation = PushPresentation(type)
    }
}

extension PushPresentation {
    /// What a type's catalogue says of looks and sounds.
    fileprivate init(_ type: CatalogType) {
        self.init(
            android: AndroidPresentation(
                channelID: type.android.channel,
                visibility: type.android.visibility,
                importance: type.android.importance,
                sound: type.hasSound ? type.android.sound ?? "default" : nil,
                color: type.color
            ),
            apple: ApplePresentation(
                sound: type.hasSound ? type.apple.sound ?? "default" : nil,
                isMutable: type.apple.isMutable,
                category: type.apple.category,
                thread: type.apple.thread,
                interruptionLevel: type.apple.interruptionLevel
            )
        )
    }
}

extension DeepLink {
    fileprivate init?(_ link: JSONObject) {
        guard case .string(let web)? = link["web"], case .string(let mobile)? = link["mobile"] else { return nil }
        self.init(web: web, mobile: mobile, scheme: link["scheme"]?.string)
    }
}
