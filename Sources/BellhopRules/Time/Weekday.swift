/// A day of the week as messages write it, Monday first (ISO 8601).
public enum Weekday: String, CaseIterable, Hashable, Sendable {
    /// Monday.
    case monday = "mon"
    /// Tuesday.
    case tuesday = "tue"
    /// Wednesday.
    case wednesday = "wed"
    /// Thursday.
    case thursday = "thu"
    /// Friday.
    case friday = "fri"
    /// Saturday.
    case saturday = "sat"
    /// Sunday.
    case sunday = "sun"
}
