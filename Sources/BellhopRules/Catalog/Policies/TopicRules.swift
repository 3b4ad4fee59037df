/// What a catalogue says of topics by their kinds.
///
/// The kind of a topic is what stands before its first colon: `safe` in `safe:1:0xAb…`.
public struct TopicRules: Hashable, Sendable {
    /// The kinds whose names mean the same in capitals and in small letters.
    private let folded: Set<String>
    /// The kind whose names are venues.
    private let venue: String?
    /// The kinds that users may follow by themselves; nil for any topic.
    private let followable: Set<String>?

    init(folding kinds: [String] = [], venue: String? = nil, followable: [String]? = nil) {
        self.followable = followable.map(Set.init)
        folded = Set(kinds.map { Self.folded($0.utf8) })
        self.venue = venue
    }

    /// The one spelling by which a topic is stored and looked up.
    ///
    /// Only the letters A to Z are folded, so that a name keeps its length and no alphabet is guessed at.
    public func canonical(_ topic: Topic) -> Topic {
        guard !folded.isEmpty else { return topic }
        let kind = topic.text.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard folded.contains(Self.folded(kind)) else { return topic }
        return Topic(validating: Self.folded(topic.text.utf8)) ?? topic
    }

    /// Whether users may follow topics of every kind, since the catalogue names none.
    public var anyMayBeFollowed: Bool { followable == nil }

    /// Whether a user may begin to follow a topic without the app's servers saying so.
    public func mayBeFollowed(_ topic: Topic) -> Bool {
        guard let followable else { return true }
        return followable.contains(String(topic.text.prefix { $0 != ":" }))
    }

    /// The venue that a topic is about, such as `42` for `venue:42`; nil for another kind of topic.
    func venueID(of topic: Topic) -> String? {
        guard let venue, topic.text.hasPrefix(venue + ":") else { return nil }
        let name = topic.text.dropFirst(venue.count + 1)
        return name.isEmpty ? nil : String(name)
    }

    private static func folded(_ bytes: some Sequence<UInt8>) -> String {
        String(
            decoding: bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self
        )
    }
}
