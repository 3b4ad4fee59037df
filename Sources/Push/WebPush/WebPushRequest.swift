package import BellhopRules

/// The headers of one message to a push service (RFC 8030), but for the sign-in.
package enum WebPushRequest {
    /// `now` is what the time to live is counted from.
    package static func headers(of message: PushMessage, now: Timestamp) -> [(name: String, value: String)] {
        // At least one second: Apple takes no zero.
        let seconds = max(1, message.secondsToLive(from: now) ?? PushMessage.longestLife)
        return [
            ("content-type", "application/octet-stream"), ("content-encoding", "aes128gcm"),
            ("ttl", String(seconds)), ("urgency", message.urgency.rawValue),
            ("topic", message.pushTopic),
        ]
    }
}
