import Cryptography

extension PushMessage {
    /// What a later message must carry to replace this one on a device: at most 64 bytes of visible ASCII.
    ///
    /// It is the event's collapse key, or a hash of one that is longer or has other characters; without a key it is the
    /// notification's own id, so that a repeat replaces what it repeats and nothing else.
    var replacementID: String {
        guard let collapseKey else { return notification.text }
        let bytes = collapseKey.utf8
        guard !bytes.isEmpty, bytes.count <= 64, bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return SHA256.digest(of: Array(bytes)).description
        }
        return collapseKey
    }

    /// What a later message must carry to replace this one at a browser's push service before it is delivered.
    ///
    /// 32 hex digits, which every service takes: a hash of the replacement id, so that a collapse key's words do not
    /// travel in the open beside an encrypted message.
    var pushTopic: String {
        SHA256.digest(of: Array(replacementID.utf8)).hexPrefix(bytes: 16)
    }
}
