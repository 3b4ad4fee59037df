/// One mail to one mailbox, complete in memory.
///
/// One recipient each, since a mail with several would be refused as a whole for the sake of one of them.
package struct OutgoingMail: Sendable {
    /// Where refusals after the hand-over go; visible ASCII without angle brackets, as is the recipient.
    package var sender: String
    package var recipient: String

    /// Head and body, every line ended by CR LF and none longer than 998 bytes; lines that begin with a dot are fine.
    package var content: [UInt8]

    package init(from sender: String, to recipient: String, content: [UInt8]) {
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}

extension OutgoingMail {
    /// Why the mail must not be sent, as the end of a sentence; nil where it may.
    ///
    /// A bare CR or LF is where two servers may disagree about the end of a mail, and so a way to smuggle in a second
    /// one.
    var fault: String? {
        guard Self.isAddress(sender), Self.isAddress(recipient) else {
            return "sender and recipient must be visible ASCII without angle brackets"
        }
        var before: UInt8 = 0
        for byte in content {
            guard (byte == Self.lineFeed) == (before == Self.carriageReturn) else {
                return "its lines must end with CR LF, and neither may stand alone"
            }
            before = byte
        }
        return before == Self.lineFeed ? nil : "its last line must end with CR LF"
    }

    private static let carriageReturn: UInt8 = 0x0D
    private static let lineFeed: UInt8 = 0x0A

    private static func isAddress(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { ASCII.isVisible($0) && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") }
    }
}
