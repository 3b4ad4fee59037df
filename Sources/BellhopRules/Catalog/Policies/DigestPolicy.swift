/// When what is gathered goes out, and in which words.
public struct DigestPolicy: Hashable, Sendable {
    /// The names that a digest's templates may use.
    ///
    /// `count`: how many notifications were gathered. `titles`: the first few different titles, with commas between
    /// them. `more`: how many notifications are not behind one of those titles.
    static let names = ["count", "titles", "more"]

    /// The times of day by the user's own clock, in order; at least one.
    public let times: [LocalTime]
    /// The days of the week; every day unless the catalogue names some.
    public let days: Set<Weekday>
    /// How many titles the words may repeat.
    public let titleCount: Int
    let words: LanguageSet
    let link: LinkTemplate?
}
