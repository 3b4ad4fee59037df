package import BellhopRules

/// Builds the body of one request to FCM's HTTP v1 API.
///
/// The same message always gives the same bytes. The whole body keeps within FCM's limit for its payload, whichever
/// part of it FCM counts. What is too long gives way in this order: the body's words, the title's words, all of the
/// event's own data (the client finds `dataOmitted` in its place and can fetch the notification by its id), the image.
package enum FCMRequest {
    /// Bytes of a body at most.
    package static let limit = 4096

    /// Nil where the message does not fit even so.
    ///
    /// `now` is what the time to live is counted from.
    package static func body(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        for cargo in FCMCargo.allCases {
            let body = FCMBody(message: message, now: now, cargo: cargo)
            let whole = body.bytes(title: message.title, body: message.body)
            guard whole.count > limit else { return whole }
            let room = limit - (whole.count - message.title.jsonByteCount - message.body.jsonByteCount)
            let words = ShortenedWords(title: message.title, body: message.body, room: room)
            if let words { return body.bytes(title: words.title, body: words.body) }
        }
        return nil
    }
}

/// How much of a message travels, in the order in which it is tried.
enum FCMCargo: CaseIterable {
    case everything
    case withoutData
    case withoutDataAndImage
}
