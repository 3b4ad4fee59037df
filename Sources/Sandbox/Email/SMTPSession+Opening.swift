import Foundation

// The dialogue before the first mail: greeting, encryption and authentication.
extension SMTPSession {
    func greet(_ name: String, isExtended: Bool) -> Next {
        guard !name.isEmpty, !name.contains(" ") else {
            return refuse(.badSyntax, at: .ehlo, because: "EHLO needs the client's name")
        }
        envelope = MailEnvelope()
        var lines = ["sandbox.bellhop.example"]
        if isExtended {
            lines += ["SIZE \(office.longestMail)", "ENHANCEDSTATUSCODES"]
            lines.append(link.isSecure ? "AUTH PLAIN LOGIN" : "STARTTLS")
        }
        let next = say(MailReply(250, lines: lines), at: .ehlo)
        if lastCode == 250 { hasGreeted = true }
        return next
    }

    /// Starts TLS.
    ///
    /// The state from before TLS is discarded (RFC 3207 §4.2).
    func secure(_ rest: String) -> Next {
        guard hasGreeted, !link.isSecure, rest.isEmpty else {
            return refuse(.badOrder, at: .starttls, because: "STARTTLS must follow EHLO, once, and without pipelining")
        }
        guard !link.hasUnread else {
            _ = refuse(.badOrder, at: .starttls, because: "more was said in the clear behind STARTTLS")
            return .end
        }
        let next = say(MailReply(220, "2.0.0 Go ahead"), at: .starttls)
        guard case .goOn = next, lastCode == 220 else { return next }
        (hasGreeted, isSignedIn, envelope) = (false, false, MailEnvelope())
        return link.secure(office.tls) ? .goOn : .end
    }

    func signIn(_ rest: String) -> Next {
        guard hasGreeted, !isSignedIn, envelope.sender == nil else {
            return refuse(.badOrder, at: .auth, because: "AUTH comes after EHLO, once, and before mails")
        }
        guard link.isSecure else {
            let reply = MailReply(538, "5.7.11 Encryption required")
            return refuse(reply, at: .auth, because: "a password was offered in the clear")
        }
        let words = rest.split(separator: " ")
        guard let mechanism = words.first, words.count <= 2 else {
            return refuse(.badSyntax, at: .auth, because: "AUTH needs a mechanism")
        }
        let credentials: MailCredentials?
        switch mechanism.uppercased() {
        case "PLAIN": credentials = plain(words.dropFirst().first.map(String.init))
        case "LOGIN": credentials = login(words.dropFirst().first.map(String.init))
        default: return refuse(MailReply(504, "5.5.4 Unknown mechanism"), at: .auth, because: "no such mechanism")
        }
        guard credentials == office.credentials else {
            return say(MailReply(535, "5.7.8 Authentication credentials invalid"), at: .auth)
        }
        let next = say(MailReply(235, "2.7.0 Welcome"), at: .auth)
        isSignedIn = lastCode == 235
        return next
    }

    /// Reads an identity that is usually empty, the user and the password, separated by NULs.
    private func plain(_ initial: String?) -> MailCredentials? {
        guard let text = initial ?? ask("") else { return nil }
        guard let bytes = Data(base64Encoded: text) else { return nil }
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        return parts.count == 3 ? MailCredentials(user: parts[1], password: parts[2]) : nil
    }

    private func login(_ initial: String?) -> MailCredentials? {
        guard let user = (initial ?? ask("Username:")).flatMap(Self.decoded),
            let password = ask("Password:").flatMap(Self.decoded)
        else { return nil }
        return MailCredentials(user: user, password: password)
    }

    private static func decoded(_ text: String) -> String? {
        Data(base64Encoded: text).map { String(decoding: $0, as: UTF8.self) }
    }

    private func ask(_ prompt: String) -> String? {
        guard case .goOn = tell(MailReply(334, Data(prompt.utf8).base64EncodedString())),
            case .text(let line) = link.readLine(limit: 12_288)
        else { return nil }
        return String(decoding: line, as: UTF8.self)
    }
}
