import BellhopRules

/// Fits a request's body into a provider's limit.
///
/// A body that is too long is reduced in this order: the text of the body, the text of the title, all of the event's
/// data, the image. If the data are removed, the client finds `dataOmitted` instead and can fetch the notification by
/// its id.
enum SizeLimitedBody {
    /// Returns the longest body that `write` creates within `limit`; `nil` if the message does not fit even when it is
    /// reduced.
    ///
    /// `write` lays out the whole body with the given parts and words.
    static func bytes(
        of message: PushMessage,
        limit: Int,
        write: (_ parts: PayloadReduction, _ words: PushWords) -> [UInt8]
    ) -> [UInt8]? {
        var words = PushWords(message: message)
        for parts in PayloadReduction.allCases {
            words.shortened = nil
            let whole = write(parts, words)
            guard whole.count > limit else { return whole }
            let (title, body) = (message.title, message.body)
            let room = limit - (whole.count - title.jsonByteCount - body.jsonByteCount)
            words.shortened = TruncatedText(title: title, body: body, room: room)
            if words.shortened != nil { return write(parts, words) }
        }
        return nil
    }
}

/// The title and body of a push: those of the notification, or shortened ones.
struct PushWords {
    let message: PushMessage
    var shortened: TruncatedText?

    func addTitle(to json: inout JSONBytes) {
        guard let shortened else { return json.add("title", .title, of: message.texts) }
        json.add("title", shortened.title)
    }

    func addBody(to json: inout JSONBytes) {
        guard let shortened else { return json.add("body", .body, of: message.texts) }
        json.add("body", shortened.body)
    }

    var hasBody: Bool {
        shortened.map { !$0.body.isEmpty } ?? message.texts.with(.body) { $0.map { !$0.isEmpty } ?? false }
    }

    /// The number of bytes that both can take in a body, where an escape has at most six.
    var mostBytes: Int {
        guard let shortened else { return 6 * (byteCount(of: .title) + byteCount(of: .body)) }
        return 6 * (shortened.title.utf8.count + shortened.body.utf8.count)
    }

    private func byteCount(of field: NotificationTexts.Field) -> Int { message.texts.with(field) { $0?.count ?? 0 } }
}

/// The included parts of a message, in the order of the attempts.
enum PayloadReduction: CaseIterable {
    case everything
    case withoutData
    case withoutDataAndImage
}

/// The title and body, cut to the space that a provider's limit leaves for them.
///
/// The body is cut first, down to its first 160 bytes, then the title, down to its first 64. Cuts are between
/// user-visible characters, so that no emoji or accented letter is split, and end with an ellipsis.
struct TruncatedText {
    let title: String
    let body: String

    /// The minimum length of the body; a shorter notification would be meaningless.
    private static let shortestBody = 160
    private static let shortestTitle = 64

    /// Cuts the texts to `room`, in bytes of JSON; `nil` if this is too little for meaningful texts.
    init?(title: String, body: String, room: Int) {
        let titleCount = title.jsonByteCount
        let bodyCount = body.jsonByteCount
        let bodyRoom = min(bodyCount, max(room - titleCount, Self.shortestBody))
        let titleRoom = min(titleCount, room - bodyRoom)
        guard titleRoom >= min(titleCount, Self.shortestTitle) else { return nil }
        self.title = title.shortened(toJSONBytes: titleRoom)
        self.body = body.shortened(toJSONBytes: bodyRoom)
    }
}

extension String {
    /// Returns the text itself if it fits, or else as many whole characters as fit before an ellipsis.
    ///
    /// A single character may be longer than `room`, because combining marks are unlimited; the result is then the
    /// ellipsis alone. `room` must be at least three bytes, the length of the ellipsis.
    func shortened(toJSONBytes room: Int) -> String {
        guard jsonByteCount > room else { return self }
        let ellipsis = "…"
        var left = room - ellipsis.utf8.count
        var end = startIndex
        while end < endIndex {
            let next = index(after: end)
            left -= String(self[end..<next]).jsonByteCount
            guard left >= 0 else { break }
            end = next
        }
        let kept = self[..<end]
        let lastWord = kept.lastIndex { !$0.isWhitespace }
        return (lastWord.map { String(kept[...$0]) } ?? "") + ellipsis
    }
}
