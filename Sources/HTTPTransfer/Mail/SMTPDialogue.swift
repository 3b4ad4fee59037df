/// Follows one mail's dialogue line by line, as libcurl tells it, and knows at every moment which reply answers what.
///
/// libcurl itself tells only the last code, and that of whatever command came last.
struct SMTPDialogue {
    private(set) var phase = MailPhase.connect

    /// The server's reply in this phase; nil where none has come yet.
    private(set) var reply: SMTPReply?

    /// We have said goodbye: what comes after it is about no mail.
    private(set) var isOver = false

    private var lines: [[UInt8]] = []

    /// A longer reply is cut: the server does not get to fill our memory.
    private static let longestReply = 64

    /// Takes a command that goes out; only its first word is looked at, since the rest may be a password.
    mutating func sent(_ command: UnsafeRawBufferPointer) {
        // What follows a 334 is the rest of the credentials and no command, whatever it looks like.
        if phase == .auth, reply?.code == 334 { return begin(.auth) }
        let word = command.prefix { $0 > 0x20 }
        if word.elementsEqual("QUIT".utf8) {
            isOver = true
        } else {
            begin(Self.phase(of: word) ?? phase)
        }
    }

    /// Takes a line that came in, with its line end.
    mutating func received(_ line: UnsafeRawBufferPointer) {
        guard !isOver else { return }
        let line = Array(line.prefix { $0 != 0x0D && $0 != 0x0A })
        guard SMTPReply.code(line) != nil else { return }
        if lines.count < Self.longestReply { lines.append(line) }
        let isLast = line.count == 3 || line[3] != UInt8(ascii: "-")
        guard isLast else { return }
        reply = SMTPReply(lines: lines)
        lines = []
        // The server's "go ahead": from here on its next reply is about the content.
        if phase == .data, reply?.code == 354 { begin(.endOfData) }
    }

    private mutating func begin(_ next: MailPhase) {
        guard !isOver else { return }
        phase = next
        reply = nil
        lines = []
    }

    /// What a command begins; nil for what goes on with the phase that is.
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
