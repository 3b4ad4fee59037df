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

/// The common parts of all mails of an app.
package struct EmailBranding: Sendable {
    package let from: Mailbox

    /// The scheme and host of the web app, without a trailing slash; the paths of links are appended.
    package let linkBase: String

    package let unsubscribe: UnsubscribeLink

    package init(from: Mailbox, linkBase: String, unsubscribe: UnsubscribeLink) {
        self.from = from
        self.linkBase = linkBase
        self.unsubscribe = unsubscribe
    }

    /// Returns the name of the app in its mails.
    func appName(_ app: AppID) -> String { from.name.isEmpty ? app.text : from.name }

    /// Returns an absolute URL in visible ASCII for any path; the URL never leaves the web app's host.
    func link(to path: String) -> String {
        var url = Array(linkBase.utf8)
        if !path.hasPrefix("/") { url.append(UInt8(ascii: "/")) }
        for byte in path.utf8 {
            if byte > 0x20, byte < 0x7F, !"\"<>\\^`{|}".utf8.contains(byte) {
                url.append(byte)
            } else {
                url += [UInt8(ascii: "%"), Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
            }
        }
        return String(decoding: url, as: UTF8.self)
    }
}
