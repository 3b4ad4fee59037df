import Cryptography

extension PushMessage {
    /// The id by which a later message replaces this one on a device: at most 64 bytes of visible ASCII.
    ///
    /// It is the event's collapse key, or a hash of a key that is longer or has other characters. Without a key, it is
    /// the notification's own id, so that a repeat replaces only the repeated message.
    var replacementID: String {
        guard let collapseKey else { return notification.text }
        let bytes = collapseKey.utf8
        guard !bytes.isEmpty, bytes.count <= 64, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return SHA256.digest(of: Array(bytes)).description
        }
        return collapseKey
    }

    /// The topic by which a later message replaces this one at a browser's push service before its delivery.
    ///
    /// It has 32 hexadecimal digits, which every service accepts. It is a hash of the replacement id, so that a
    /// collapse key is not readable next to an encrypted message.
    var pushTopic: String {
        SHA256.digest(of: Array(replacementID.utf8)).hexPrefix(bytes: 16)
    }
}
