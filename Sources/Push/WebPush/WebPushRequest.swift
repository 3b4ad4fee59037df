package import BellhopRules

/// The headers of one message to a push service (RFC 8030), without the sign-in.
package enum WebPushRequest {
    /// Returns the headers; the time to live counts from `now`.
    package static func headers(of message: PushMessage, now: Timestamp) -> [(name: String, value: String)] {
        // The minimum is one second, because Apple rejects zero.
        let seconds = max(1, message.secondsToLive(from: now) ?? PushMessage.longestLife)
        return [
            ("content-type", "application/octet-stream"), ("content-encoding", "aes128gcm"),
            ("ttl", String(seconds)), ("urgency", message.urgency.rawValue),
            ("topic", message.pushTopic),
        ]
    }
}
