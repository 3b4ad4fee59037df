/// What a mail server says: a code and one line or several.
struct MailReply: Sendable, Equatable {
    let code: Int
    let lines: [String]

    init(_ code: Int, _ lines: String...) {
        self.code = code
        self.lines = lines
    }

    init(_ code: Int, lines: [String]) {
        self.code = code
        self.lines = lines
    }

    var isRefusal: Bool { code >= 400 }

    /// In the form of RFC 5321 §4.2.
    var bytes: [UInt8] {
        var text = ""
        for (index, line) in lines.enumerated() {
            text += "\(code)\(index == lines.count - 1 ? " " : "-")\(line)\r\n"
        }
        return Array(text.utf8)
    }

    static let badOrder = MailReply(503, "5.5.1 Bad sequence of commands")
    static let badSyntax = MailReply(501, "5.5.4 Syntax error in parameters")

    /// What a fault asks for; its reason is the text, such as `5.1.1 No such user`.
    init(_ fault: SandboxFault.Answer) {
        self.init(fault.status, fault.reason ?? "The sandbox was asked to say so")
    }
}
