import Cryptography

extension PushMessage {
    /// What a later message must carry to replace this one at a browser's push service before it is delivered.
    ///
    /// 32 hex digits, which every service takes: a hash of the replacement id, so that a collapse key's words do not
    /// travel in the open beside an encrypted message.
    var pushTopic: String {
        SHA256.digest(of: Array(replacementID.utf8)).hexPrefix(bytes: 16)
    }
}
