/// The reason for rejecting a mail.
struct MailFault: Error, Equatable {
    let text: String

    init(_ text: String) { self.text = text }
}

/// A parsed mail.
struct ReceivedMail: Sendable {
    typealias Header = (name: String, value: String)

    /// The unfolded headers in their order, with values unchanged and names in lower case.
    let headers: [Header]
    let text: String?
    let html: String?

    private static let required = ["date", "from", "to", "subject", "message-id", "mime-version", "content-type"]

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Parses the lines of a mail without dot stuffing, and rejects everything that a strict receiver would reject.
    static func read(_ lines: [[UInt8]]) -> Result<ReceivedMail, MailFault> {
        do throws(MailFault) {
            guard lines.allSatisfy({ $0.allSatisfy { $0 < 0x80 } }) else {
                throw MailFault("8-bit content, and 8BITMIME was not offered")
            }
            guard lines.allSatisfy({ $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }) else {
                throw MailFault("a control character")
            }
            let part = try MailPart(lines)
            try check(part)
            let texts = try part.texts()
            return .success(ReceivedMail(headers: part.headers, text: texts.plain, html: texts.html))
        } catch {
            return .failure(error)
        }
    }

    private static func check(_ part: MailPart) throws(MailFault) {
        for name in required {
            let count = part.headers.count { $0.name == name }
            guard count == 1 else { throw MailFault("the header \(name) must come once, and comes \(count) times") }
        }
        for name in ["from", "to"] where !(part.header(name)?.hasSuffix(">") ?? false) {
            throw MailFault("\(name) is not an address in angle brackets")
        }
        let messageID = part.header("message-id") ?? ""
        guard messageID.hasPrefix("<"), messageID.hasSuffix(">"), messageID.contains("@") else {
            throw MailFault("message-id is not <left@right>")
        }
        guard part.header("mime-version") == "1.0" else { throw MailFault("mime-version must be 1.0") }
        guard isDate(part.header("date") ?? "") else { throw MailFault("date is not of RFC 5322") }
        try checkUnsubscribing(part)
    }

    /// Checks the unsubscribe headers that large mailbox providers require of bulk senders.
    private static func checkUnsubscribing(_ part: MailPart) throws(MailFault) {
        let link = part.header("list-unsubscribe") ?? ""
        guard link.hasPrefix("<https://"), link.hasSuffix(">") else {
            throw MailFault("list-unsubscribe is not an https link")
        }
        guard part.header("list-unsubscribe-post") == "List-Unsubscribe=One-Click" else {
            throw MailFault("list-unsubscribe-post is missing")
        }
    }

    /// Whether the text is a date such as `Sun, 15 Feb 2026 13:45:00 +0000`.
    private static func isDate(_ text: String) -> Bool {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].count == 4, words[0].hasSuffix(","), let day = Int(words[1]),
            let year = Int(words[3])
        else { return false }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        return (1...31).contains(day) && words[2].count == 3 && year >= 1900 && clock.count == 3 && words[5].count == 5
    }
}
