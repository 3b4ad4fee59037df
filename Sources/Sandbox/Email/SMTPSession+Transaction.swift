// The dialogue of one mail: its sender, its recipients and its content.
extension SMTPSession {
    /// The longest line with its line end, as in RFC 5321 §4.5.3.1.6.
    private static let longestLine = 1_000

    func nameSender(_ rest: String) -> Next {
        guard hasGreeted, envelope.sender == nil else {
            return refuse(.badOrder, at: .mail, because: "MAIL comes after EHLO, and once in a mail")
        }
        guard link.isSecure, isSignedIn else {
            let words = link.isSecure ? "5.7.0 Authentication required" : "5.7.0 Must issue a STARTTLS command first"
            return refuse(MailReply(530, words), at: .mail, because: "authentication required")
        }
        guard let (address, parameters) = Self.path(rest, "FROM:") else {
            return refuse(.badSyntax, at: .mail, because: "MAIL needs FROM:<address>")
        }
        for parameter in parameters {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].uppercased() == "SIZE", let size = Int(parts[1]), size >= 0 else {
                let reply = MailReply(555, "5.5.4 Unsupported parameter")
                return refuse(reply, at: .mail, because: "\(parameter) was not offered")
            }
            guard size <= office.longestMail else {
                return say(MailReply(552, "5.3.4 Message too big"), at: .mail, violation: "it says it is too big")
            }
        }
        envelope.sender = address
        let next = say(MailReply(250, "2.1.0 Sender ok"), at: .mail)
        if lastCode != 250 { envelope = MailEnvelope() }
        return next
    }

    func nameRecipient(_ rest: String) -> Next {
        guard envelope.sender != nil else {
            return refuse(.badOrder, at: .rcpt, because: "RCPT comes after MAIL")
        }
        guard let (address, parameters) = Self.path(rest, "TO:"), parameters.isEmpty, !address.isEmpty else {
            return refuse(.badSyntax, at: .rcpt, because: "RCPT needs TO:<address> and nothing else")
        }
        guard envelope.recipients.count < 100 else { return tell(MailReply(452, "4.5.3 Too many recipients")) }
        envelope.recipients.append(address)
        let next = say(MailServerState.verdict(onRecipient: address) ?? MailReply(250, "2.1.5 Recipient ok"), at: .rcpt)
        if lastCode != 250 { envelope.recipients.removeLast() }
        return next
    }

    func takeMail(_ rest: String) -> Next {
        guard !envelope.recipients.isEmpty, rest.isEmpty else {
            return refuse(.badOrder, at: .data, because: "DATA must follow RCPT, without pipelining")
        }
        let next = say(MailReply(354, "End data with <CR><LF>.<CR><LF>"), at: .data)
        guard case .goOn = next, lastCode == 354 else { return next }
        guard let content = readContent() else { return .end }
        defer { envelope = MailEnvelope() }
        switch content {
        case .failure(let fault):
            return say(MailReply(554, "5.6.0 \(fault.text)"), at: .endOfData, violation: fault.text)
        case .success(let mail):
            let isSpam = envelope.recipients.contains { $0.hasPrefix("spam-") }
            let reply = isSpam ? MailReply(554, "5.7.1 Message looks like spam") : MailReply(250, "2.0.0 Queued")
            return say(reply, at: .endOfData, mail: mail)
        }
    }

    /// Reads to the single dot, even if the content is invalid; returns `nil` if the connection ends before the dot.
    private func readContent() -> Result<ReceivedMail, MailFault>? {
        var lines: [[UInt8]] = []
        var size = 0
        var fault: MailFault?
        while let line = link.readLine(limit: Self.longestLine) {
            switch line {
            case .tooLong: fault = fault ?? MailFault("a line is longer than 998 bytes")
            case .brokenEnd: fault = fault ?? MailFault("a line ends with a bare CR or LF")
            case .text(let bytes) where bytes == Self.dot:
                if let fault { return .failure(fault) }
                return size > office.longestMail
                    ? .failure(MailFault("the message is too big")) : ReceivedMail.read(lines)
            case .text(let bytes):
                let isStuffed = bytes.first == Self.dot[0]
                if isStuffed, bytes[1] != Self.dot[0] {
                    fault = fault ?? MailFault("a line begins with a dot that was not doubled")
                }
                size += bytes.count + 2
                if size <= office.longestMail { lines.append(isStuffed ? Array(bytes.dropFirst()) : bytes) }
            }
        }
        return nil
    }

    private static let dot = [UInt8(ascii: ".")]

    /// Splits `FROM:<address> PARAMETER…` into address and parameters.
    private static func path(_ text: String, _ keyword: String) -> (String, [Substring])? {
        guard text.prefix(keyword.count).uppercased() == keyword else { return nil }
        let rest = text.dropFirst(keyword.count)
        guard rest.first == "<", let end = rest.firstIndex(of: ">") else { return nil }
        let address = String(rest.dropFirst().prefix { $0 != ">" })
        let behind = rest[rest.index(after: end)...]
        let isAddress = address.isEmpty || (address.contains("@") && !address.contains(" "))
        guard isAddress, behind.isEmpty || behind.first == " " else { return nil }
        return (address, behind.split(separator: " "))
    }
}
