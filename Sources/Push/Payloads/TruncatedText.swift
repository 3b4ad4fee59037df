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
