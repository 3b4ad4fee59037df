package import BellhopRules

/// Builds the body of one request to FCM's HTTP v1 API.
///
/// The same message always gives the same bytes. The whole body keeps within FCM's limit for its payload, whichever
/// part of it FCM counts; `FittedBody` says what gives way.
package enum FCMRequest {
    /// Bytes of a body at most.
    package static let limit = 4096

    /// Nil where the message does not fit even shortened, or has a purpose that FCM cannot carry to its platform.
    ///
    /// `now` is what the time to live is counted from.
    package static func body(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else { return FCMBadge(message: message, now: now)?.bytes() }
        return FittedBody.bytes(of: message, limit: limit) { parts, title, body in
            FCMBody(message: message, now: now, parts: parts).bytes(title: title, body: body)
        }
    }

    /// The verdict on a message that has no body.
    static func refusal(of message: PushMessage) -> Verdict {
        guard message.purpose == .badgeUpdate else { return .payloadError(.payloadTooLarge) }
        return .payloadError(message.platformShowsBadges ? .invalidRequest : .unsupportedPurpose)
    }
}
