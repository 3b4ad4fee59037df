import BellhopRules
import Push
import Store

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
