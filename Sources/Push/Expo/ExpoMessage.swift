package import BellhopRules

/// Builds one message for Expo's push service: an element of the array that a request carries.
///
/// The same message always gives the same bytes. It keeps within Expo's limit as a whole, whichever part of it Expo
/// counts. What is too long gives way in the order that holds for FCM: the body's words, the title's words, all of the
/// event's own data (`dataOmitted` stands in its place), the image.
package enum ExpoMessage {
    /// Bytes of a message at most.
    package static let limit = 4096

    /// Nil where the message does not fit even so.
    ///
    /// `now` is what the time to live is counted from.
    package static func bytes(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else {
            let whole = ExpoBody(message: message, now: now, cargo: .withoutDataAndImage).badgeUpdate()
            return whole.count > limit ? nil : whole
        }
        for cargo in FCMCargo.allCases {
            let body = ExpoBody(message: message, now: now, cargo: cargo)
            let whole = body.bytes(title: message.title, body: message.body)
            guard whole.count > limit else { return whole }
            let room = limit - (whole.count - message.title.jsonByteCount - message.body.jsonByteCount)
            let words = ShortenedWords(title: message.title, body: message.body, room: room)
            if let words { return body.bytes(title: words.title, body: words.body) }
        }
        return nil
    }
}
