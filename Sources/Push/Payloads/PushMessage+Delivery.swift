import BellhopRules
import Cryptography

extension PushMessage {
    /// The longest lifetime in seconds, four weeks.
    ///
    /// It is FCM's maximum and default, about Expo's current default, and accepted by every push service.
    static let longestLife = 2_419_200

    /// Returns the time for which a provider may store the message, in whole seconds; `nil` leaves it to the provider.
    func secondsToLive(from now: Timestamp) -> Int? {
        expiry.map { expiry in
            let left = (expiry.microseconds - now.microseconds) / 1_000_000
            return min(max(Int(clamping: left), 0), Self.longestLife)
        }
    }

    /// The instant until which a provider may store the message, in seconds since 1970; `nil` leaves it to the
    /// provider.
    ///
    /// APNs counts in 32 bits, up to the year 2106.
    var expirySeconds: Int? { expiry.map { Int(clamping: min($0.microseconds / 1_000_000, Int64(UInt32.max))) } }
}

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
    var pushTopic: String { SHA256.digest(of: Array(replacementID.utf8)).hexPrefix(bytes: 16) }
}
