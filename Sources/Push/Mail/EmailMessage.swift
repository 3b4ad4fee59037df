package import BellhopRules

/// One notification on its way to one mailbox: all that the builder of a mail may look at beside the letterhead.
///
/// It is rendered already: words in the reader's language, link filled.
package struct EmailMessage: Sendable {
    package var app: AppID

    /// Who is written to; the unsubscribe link speaks for this user.
    package var user: UserID

    /// The same for every repeat, and so is the mail's `Message-ID`, by which a mailbox can recognise one.
    package var notification: NotificationID

    package var type: EventType

    package var address: EmailAddress

    /// Decides the words that are ours (the button, the footer); the title and the body are in it already.
    package var language: LanguageTag

    package var title: String

    /// May be empty; its line breaks are kept.
    package var body: String

    /// Path of the web app that the button opens; nil for a mail without a button.
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
