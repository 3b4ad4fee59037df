/// Follows one mail's dialogue line by line, as libcurl reports it, and assigns each reply to its command.
///
/// libcurl itself reports only the last code, whichever command it belongs to.
struct SMTPDialogue {
    private(set) var phase = MailPhase.connect

    /// The server's reply in this phase; `nil` if there is none yet.
    private(set) var reply: SMTPReply?

    /// Whether QUIT has been sent; later replies belong to no mail.
    private(set) var isOver = false

    private var lines: [[UInt8]] = []

    /// The maximum lines of a reply; a longer reply is cut, so that the server cannot fill the memory.
    private static let longestReply = 64

    /// Receives an outgoing command; only its first word is read, because the rest may be a password.
    mutating func sent(_ command: UnsafeRawBufferPointer) {
        // After a 334, the next line contains the rest of the credentials and not a command, whatever it looks like.
        if phase == .auth, reply?.code == 334 { return begin(.auth) }
        let word = command.prefix { $0 > 0x20 }
        if word.elementsEqual("QUIT".utf8) {
            isOver = true
        } else {
            begin(Self.phase(of: word) ?? phase)
        }
    }

    /// Receives an incoming line, with its line end.
    mutating func received(_ line: UnsafeRawBufferPointer) {
        guard !isOver else { return }
        let line = Array(line.prefix { $0 != 0x0D && $0 != 0x0A })
        guard SMTPReply.code(line) != nil else { return }
        if lines.count < Self.longestReply { lines.append(line) }
        let isLast = line.count == 3 || line[3] != UInt8(ascii: "-")
        guard isLast else { return }
        reply = SMTPReply(lines: lines)
        lines = []
        // The server requests the content; its next reply is about the content.
        if phase == .data, reply?.code == 354 { begin(.endOfData) }
    }

    private mutating func begin(_ next: MailPhase) {
        guard !isOver else { return }
        phase = next
        reply = nil
        lines = []
    }

    /// Returns the phase that a command begins; `nil` if the command continues the current phase.
    private static func phase(of word: Slice<UnsafeRawBufferPointer>) -> MailPhase? {
        switch String(decoding: word.prefix(8), as: UTF8.self) {
        case "EHLO", "HELO": .ehlo
        case "STARTTLS": .starttls
        case "AUTH": .auth
        case "MAIL": .mail
        case "RCPT": .rcpt
        case "DATA": .data
        default: nil
        }
    }
}
