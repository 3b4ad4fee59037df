package import BellhopRules

/// The headers of one message to a push service (RFC 8030), but for the sign-in.
package enum WebPushRequest {
    /// Four weeks, which every push service takes.
    private static let longestLife: Int64 = 2_419_200

    /// `now` is what the time to live is counted from.
    package static func headers(of message: PushMessage, now: Timestamp) -> [(name: String, value: String)] {
        [
            ("content-type", "application/octet-stream"), ("content-encoding", "aes128gcm"),
            ("ttl", String(secondsToLive(message, now))), ("urgency", message.priority.rawValue),
            ("topic", message.pushTopic),
        ]
    }

    /// At least one second: Apple takes no zero.
    private static func secondsToLive(_ message: PushMessage, _ now: Timestamp) -> Int64 {
        guard let expiry = message.expiry else { return longestLife }
        let (left, overflow) = expiry.microseconds.subtractingReportingOverflow(now.microseconds)
        guard !overflow else { return longestLife }
        return min(max(left / 1_000_000, 1), longestLife)
    }
}
