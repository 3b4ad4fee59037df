/// A reply of a mail server: a code and one or more lines.
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

    /// The reply in the form of RFC 5321 §4.2.
    var bytes: [UInt8] {
        var text = ""
        for (index, line) in lines.enumerated() {
            text += "\(code)\(index == lines.count - 1 ? " " : "-")\(line)\r\n"
        }
        return Array(text.utf8)
    }

    static let badOrder = MailReply(503, "5.5.1 Bad sequence of commands")
    static let badSyntax = MailReply(501, "5.5.4 Syntax error in parameters")

    /// Creates the reply that a fault requests; the fault's reason is the text, such as `5.1.1 No such user`.
    init(_ fault: SandboxFault.Answer) {
        self.init(fault.status, fault.reason ?? "The sandbox was told to send this")
    }
}
