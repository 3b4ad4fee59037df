/// Makes a request's body fit into a provider's limit.
///
/// What is too long gives way in this order: the body's words, the title's words, all of the event's own data (the
/// client finds `dataOmitted` in its place and can fetch the notification by its id), the image.
enum FittedBody {
    /// The longest that `write` makes within `limit`; nil where the message does not fit even so.
    ///
    /// `write` lays out the whole body with the parts and the two words it is given.
    static func bytes(
        of message: PushMessage,
        limit: Int,
        write: (_ parts: MessageParts, _ title: String, _ body: String) -> [UInt8]
    ) -> [UInt8]? {
        for parts in MessageParts.allCases {
            let whole = write(parts, message.title, message.body)
            guard whole.count > limit else { return whole }
            let room = limit - (whole.count - message.title.jsonByteCount - message.body.jsonByteCount)
            let words = ShortenedWords(title: message.title, body: message.body, room: room)
            if let words { return write(parts, words.title, words.body) }
        }
        return nil
    }
}

/// How much of a message travels, in the order in which it is tried.
enum MessageParts: CaseIterable {
    case everything
    case withoutData
    case withoutDataAndImage
}
