import BellhopRules

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
    var expirySeconds: Int? {
        expiry.map { Int(clamping: min($0.microseconds / 1_000_000, Int64(UInt32.max))) }
    }
}
