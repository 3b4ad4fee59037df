/// A catalogue's rules for topics, by kind.
///
/// A topic's kind is the part before its first colon: `safe` in `safe:1:0xAb…`.
public struct TopicRules: Hashable, Sendable {
    /// The kinds whose names are case-insensitive.
    private let folded: Set<String>
    /// The kind whose names are venues.
    private let venue: String?
    /// The kinds that users may follow without the app's servers; `nil` for any topic.
    private let followable: Set<String>?

    init(folding kinds: [String] = [], venue: String? = nil, followable: [String]? = nil) {
        self.followable = followable.map(Set.init)
        folded = Set(kinds.map { Self.folded($0.utf8) })
        self.venue = venue
    }

    /// Returns the spelling under which a topic is stored and looked up.
    ///
    /// Only the letters A to Z are folded, so that a name keeps its length and no rules of other alphabets are needed.
    public func canonical(_ topic: Topic) -> Topic {
        guard !folded.isEmpty else { return topic }
        let kind = topic.text.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard folded.contains(Self.folded(kind)) else { return topic }
        return Topic(validating: Self.folded(topic.text.utf8)) ?? topic
    }

    /// Whether users may follow topics of every kind, because the catalogue names none.
    public var anyMayBeFollowed: Bool { followable == nil }

    /// Returns whether a user may start to follow a topic without a message from the app's servers.
    public func mayBeFollowed(_ topic: Topic) -> Bool {
        guard let followable else { return true }
        return followable.contains(String(topic.text.prefix { $0 != ":" }))
    }

    /// Returns the venue of a topic, such as `42` for `venue:42`; `nil` for another kind of topic.
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
