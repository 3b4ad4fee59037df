package import BellhopRules

/// Builds one message for Expo's push service: an element of the array that a request carries.
///
/// The same message always gives the same bytes. It keeps within Expo's limit as a whole, whichever part of it Expo
/// counts; `FittedBody` says what gives way.
package enum ExpoMessage {
    /// Bytes of a message at most.
    package static let limit = 4096

    /// Nil where the message does not fit even so.
    ///
    /// `now` is what the time to live is counted from.
    package static func bytes(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else {
            let whole = ExpoBody(message: message, now: now, parts: .withoutDataAndImage).badgeUpdate()
            return whole.count > limit ? nil : whole
        }
        return FittedBody.bytes(of: message, limit: limit) { parts, title, body in
            ExpoBody(message: message, now: now, parts: parts).bytes(title: title, body: body)
        }
    }
}
