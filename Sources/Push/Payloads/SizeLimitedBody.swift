/// Fits a request's body into a provider's limit.
///
/// A body that is too long is reduced in this order: the text of the body, the text of the title, all of the event's
/// data, the image. If the data are removed, the client finds `dataOmitted` instead and can fetch the notification by
/// its id.
enum SizeLimitedBody {
    /// Returns the longest body that `write` creates within `limit`; `nil` if the message does not fit even when it is
    /// reduced.
    ///
    /// `write` lays out the whole body with the given parts, title and body text.
    static func bytes(
        of message: PushMessage,
        limit: Int,
        write: (_ parts: PayloadReduction, _ title: String, _ body: String) -> [UInt8]
    ) -> [UInt8]? {
        for parts in PayloadReduction.allCases {
            let whole = write(parts, message.title, message.body)
            guard whole.count > limit else { return whole }
            let room = limit - (whole.count - message.title.jsonByteCount - message.body.jsonByteCount)
            let words = TruncatedText(title: message.title, body: message.body, room: room)
            if let words { return write(parts, words.title, words.body) }
        }
        return nil
    }
}

/// The included parts of a message, in the order of the attempts.
enum PayloadReduction: CaseIterable {
    case everything
    case withoutData
    case withoutDataAndImage
}
