/// The times and texts of digests.
public struct DigestPolicy: Hashable, Sendable {
    /// The names that a digest's templates may use.
    ///
    /// `count` is the number of gathered notifications. `titles` is the first few different titles, separated by
    /// commas. `more` is the number of notifications whose titles are not shown.
    static let names = ["count", "titles", "more"]

    /// The times of day on the user's clock, in order; at least one.
    public let times: [LocalTime]
    /// The days of the week; every day if the catalogue names none.
    public let days: Set<Weekday>
    /// The maximum number of titles that the texts may repeat.
    public let titleCount: Int
    let words: LanguageSet
    let link: LinkTemplate?
}
