package import BellhopRules

/// One notification for one mailbox: all data that the builder of a mail uses in addition to the letterhead.
///
/// It is already rendered, with texts in the user's language and a complete link.
package struct EmailMessage: Sendable {
    package var app: AppID

    /// The user to whom the mail is sent and to whom the unsubscribe link applies.
    package var user: UserID

    /// The notification's id, the same for every repeat.
    ///
    /// The mail's `Message-ID` derives from it, so that a mailbox can recognise repeats.
    package var notification: NotificationID

    package var type: EventType

    package var address: EmailAddress

    /// The language of Bellhop's texts (the button, the footer); the title and the body are already in it.
    package var language: LanguageTag

    package var title: String

    /// The body, with its line breaks; may be empty.
    package var body: String

    /// The path of the web app that the button opens; `nil` for a mail without a button.
    package var webPath: String?

    package init(
        app: AppID,
        user: UserID,
        notification: NotificationID,
        type: EventType,
        address: EmailAddress,
        words: (language: LanguageTag, title: String, body: String)
    ) {
        self.app = app
        self.user = user
        self.notification = notification
        self.type = type
        self.address = address
        (language, title, body) = words
    }
}
