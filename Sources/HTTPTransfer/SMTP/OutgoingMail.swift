/// One mail to one mailbox, complete in memory.
///
/// Each mail has one recipient, because a server could reject a mail with several as a whole for the sake of one of
/// them.
package struct OutgoingMail: Sendable {
    /// The address for rejections after the transfer; visible ASCII without angle brackets, like the recipient.
    package var sender: String
    package var recipient: String

    /// Head and body with CR LF after every line, and at most 998 bytes per line; lines may begin with a dot.
    package var content: [UInt8]

    package init(from sender: String, to recipient: String, content: [UInt8]) {
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }
}

extension OutgoingMail {
    /// The reason why the mail must not be sent, as the end of a sentence; `nil` if it may be sent.
    ///
    /// Two servers may disagree about the end of a mail at a bare CR or LF, which would be a way to smuggle in a second
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
