/// The kinds of topics whose names mean the same in capitals and in small letters.
///
/// The kind of a topic is what stands before its first colon: `safe` in `safe:1:0xAb…`.
public struct TopicFolding: Hashable, Sendable {
    private let kinds: Set<String>

    init(_ kinds: [String]) {
        self.kinds = Set(kinds.map { Self.folded($0.utf8) })
    }

    /// The one spelling by which a topic is stored and looked up.
    ///
    /// Only the letters A to Z are folded, so that a name keeps its length and no alphabet is guessed at.
    public func canonical(_ topic: Topic) -> Topic {
        guard !kinds.isEmpty else { return topic }
        let kind = topic.text.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard kinds.contains(Self.folded(kind)) else { return topic }
        return Topic(validating: Self.folded(topic.text.utf8)) ?? topic
    }

    private static func folded(_ bytes: some Sequence<UInt8>) -> String {
        String(
            decoding: bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self
        )
    }
}
