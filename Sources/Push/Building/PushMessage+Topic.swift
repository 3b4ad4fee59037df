import Cryptography

extension PushMessage {
    /// What a later message must carry to replace this one at a browser's push service before it is delivered: at most
    /// 32 characters of base64url's alphabet.
    ///
    /// It is the replacement id where that is such a text, else a hash of it.
    var pushTopic: String {
        let id = replacementID
        let isTopic =
            id.utf8.count <= 32
            && id.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
        return isTopic ? id : SHA256.digest(of: Array(id.utf8)).hexPrefix(bytes: 16)
    }
}
