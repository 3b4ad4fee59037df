import BellhopRules

extension PushMessage {
    /// Four weeks: FCM's longest and its default, about Expo's default today, and what every push service takes.
    static let longestLife = 2_419_200

    /// How long a provider may keep it, in whole seconds; nil leaves that to the provider.
    func secondsToLive(from now: Timestamp) -> Int? {
        expiry.map { expiry in
            let left = (expiry.microseconds - now.microseconds) / 1_000_000
            return min(max(Int(clamping: left), 0), Self.longestLife)
        }
    }

    /// Until when a provider may keep it, in seconds since 1970; nil leaves that to the provider.
    ///
    /// APNs counts in 32 bits, up to the year 2106.
    var expirySeconds: Int? {
        expiry.map { Int(clamping: min($0.microseconds / 1_000_000, Int64(UInt32.max))) }
    }
}
