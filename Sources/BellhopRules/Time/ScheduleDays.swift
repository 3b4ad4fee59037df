/// The days on which a schedule runs.
public enum ScheduleDays: Hashable, Sendable {
    /// Every week on these days; an empty set means all days.
    case weekly(Set<Weekday>)
    /// Once, on this date.
    case once(LocalDate)

    /// Returns whether the schedule runs on a date.
    func contain(_ date: LocalDate) -> Bool {
        switch self {
        case .weekly(let days): days.isEmpty || days.contains(date.weekday)
        case .once(let only): date == only
        }
    }

    /// The days as one text: `mon,thu`, or `2026-12-01`; all days are named.
    public var text: String {
        switch self {
        case .weekly(let days):
            Weekday.allCases.filter { days.isEmpty || days.contains($0) }.map(\.rawValue).joined(separator: ",")
        case .once(let date): "\(date)"
        }
    }

    /// Reads the text of ``text``; anything else means all days.
    public init(text: String) {
        if let date = LocalDate(validating: text) {
            self = .once(date)
        } else {
            self = .weekly(Set(text.split(separator: ",").compactMap { Weekday(rawValue: String($0)) }))
        }
    }
}
