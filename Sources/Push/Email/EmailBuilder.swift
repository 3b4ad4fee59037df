import BellhopRules
package import HTTPTransfer

/// Builds the mail of one message: head, plain text and HTML, all of it ASCII in short lines.
///
/// No part of a producer's text can become a header, a boundary or markup. The same message at the same time gives the
/// same bytes.
package enum EmailBuilder {
    /// Returns the mail; `nil` if not every server accepts the form of the address, see `Mailbox.isPlainAddress`.
    ///
    /// `secondsSince1970` is the sending time.
    package static func mail(
        _ message: EmailMessage,
        _ letterhead: EmailBranding,
        secondsSince1970: Int64
    ) -> OutgoingMail? {
        guard Mailbox.isPlainAddress(message.address.text) else { return nil }
        let content = EmailContent(message, letterhead)
        // No encoded line can contain the boundary, because quoted-printable has no underscore after an equals sign.
        let boundary = "=_\(message.notification.text)"
        var mail = Array(head(message, letterhead, content, secondsSince1970).joined(separator: "\r\n").utf8)
        mail += "\r\nContent-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"\r\n\r\n".utf8
        mail += part("text/plain", content.plainLines, boundary)
        mail += part("text/html", EmailHTML(content: content).lines, boundary)
        mail += "--\(boundary)--\r\n".utf8
        return OutgoingMail(from: letterhead.from.address, to: message.address.text, content: mail)
    }

    /// Returns the message id, which is the same for every repeat and different for every notification.
    package static func messageID(of message: EmailMessage, _ letterhead: EmailBranding) -> String {
        "<\(message.notification.text)@\(letterhead.from.domain)>"
    }

    private static func head(
        _ message: EmailMessage,
        _ letterhead: EmailBranding,
        _ content: EmailContent,
        _ seconds: Int64
    ) -> [String] {
        let from = letterhead.from
        let name = from.name.isEmpty ? "" : EncodedHeader.phrase(from.name) + "\r\n "
        return [
            "Date: \(MailDate.text(secondsSince1970: seconds))",
            "From: \(name)<\(from.address)>",
            "To: <\(message.address.text)>",
            "Message-ID: \(messageID(of: message, letterhead))",
            "Subject: \(EncodedHeader.text(content.title))",
            "Auto-Submitted: auto-generated",
            "Content-Language: \(message.language.text)",
            "List-Unsubscribe: <\(content.unsubscribeLink)>",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
            "MIME-Version: 1.0",
        ]
    }

    private static func part(_ type: String, _ lines: [String], _ boundary: String) -> [UInt8] {
        let head = """
            --\(boundary)\r
            Content-Type: \(type); charset=utf-8\r
            Content-Transfer-Encoding: quoted-printable\r
            \r

            """
        return Array(head.utf8) + QuotedPrintable.encode(lines)
    }
}

/// The sanitised content of a mail, in the order of its parts.
struct EmailContent {
    let appName: String
    let title: String
    /// The lines of each paragraph; a paragraph has at least one.
    let paragraphs: [[String]]
    let link: String?
    let unsubscribeLink: String
    let language: String
    let phrases: EmailPhrases

    init(_ message: EmailMessage, _ letterhead: EmailBranding) {
        appName = letterhead.appName(message.app)
        let title = MailText.line(message.title)
        self.title = title.isEmpty ? appName : title
        paragraphs = MailText.lines(message.body).split { $0.trimmed.isEmpty }.map(Array.init)
        link = message.webPath.map(letterhead.link)
        unsubscribeLink = letterhead.unsubscribe.url(
            for: .init(app: message.app, user: message.user, mailedTo: message.address)
        )
        language = message.language.text
        phrases = EmailPhrases(for: message.language)
    }

    /// Whether the language is written from right to left.
    var isRightToLeft: Bool {
        ["ar", "dv", "fa", "he", "ku", "ps", "ur", "yi"].contains(language.prefix { $0 != "-" })
    }

    /// The lines of the plain part, for mail programs that do not show the other one.
    var plainLines: [String] {
        var lines = [title, ""]
        for paragraph in paragraphs { lines += paragraph + [""] }
        if let link { lines += ["\(phrases.open):", link, ""] }
        // This line separates the signature, which mail programs show in a smaller font or hide.
        return lines + ["-- ", phrases.reason(appName: appName), "\(phrases.unsubscribe):", unsubscribeLink]
    }
}
