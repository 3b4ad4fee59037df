package import BellhopRules

/// Builds the body of one request to FCM's HTTP v1 API.
///
/// The same message always gives the same bytes. The whole body is within FCM's limit for its payload, whichever part
/// of it FCM counts; `SizeLimitedBody` describes the reduction.
package enum FCMRequest {
    /// The maximum number of bytes of a body.
    package static let limit = 4096

    /// Returns the body.
    ///
    /// It is `nil` if the message does not fit even when shortened, or if FCM cannot transport its purpose to its
    /// platform. The time to live counts from `now`.
    package static func body(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else { return FCMBadge(message: message, now: now)?.bytes() }
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, title, body in
            FCMBody(message: message, now: now, parts: parts).bytes(title: title, body: body)
        }
    }

    /// Returns the verdict on a message without a body.
    static func refusal(of message: PushMessage) -> Verdict {
        guard message.purpose == .badgeUpdate else { return .payloadError(.payloadTooLarge) }
        return .payloadError(message.platformShowsBadges ? .invalidRequest : .unsupportedPurpose)
    }
}
