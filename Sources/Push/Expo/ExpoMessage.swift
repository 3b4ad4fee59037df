package import BellhopRules

/// Builds one message for Expo's push service, which is an element of a request's array.
///
/// The same message always gives the same bytes. The whole message is within Expo's limit, whichever part of it Expo
/// counts; `SizeLimitedBody` describes the reduction.
package enum ExpoMessage {
    /// The maximum number of bytes of a message.
    package static let limit = 4096

    /// Returns the message's bytes; `nil` if it does not fit even when reduced.
    ///
    /// The time to live counts from `now`.
    package static func bytes(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else {
            let whole = ExpoBody(message: message, now: now, parts: .withoutDataAndImage).badgeUpdate()
            return whole.count > limit ? nil : whole
        }
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, title, body in
            ExpoBody(message: message, now: now, parts: parts).bytes(title: title, body: body)
        }
    }
}
