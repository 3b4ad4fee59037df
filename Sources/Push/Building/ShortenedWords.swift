/// Title and body cut to what a provider's limit leaves for them.
///
/// The body gives way first, down to its first 160 bytes; then the title, down to its first 64. Cuts fall between
/// characters as people see them, so that no emoji and no accent is torn, and end with an ellipsis.
struct ShortenedWords {
    let title: String
    let body: String

    /// What is kept of each even where space is short; below that a notification says nothing any more.
    private static let shortestBody = 160
    private static let shortestTitle = 64

    /// Nil where `room`, in bytes of JSON, is too little for words worth showing.
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
    /// The text itself where it fits, else as many whole characters as fit before an ellipsis.
    ///
    /// A single character may be longer than the room (nothing limits combining marks): then the ellipsis stands alone.
    /// `room` must have space for that: three bytes.
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
