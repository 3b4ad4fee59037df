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
