/// The content of `reminder.set`: the whole reminder, which replaces a former one.
public struct ReminderUpdate: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// The reminder's id, unique within the user.
    public let id: ReminderID
    /// The time on the user's clock.
    public let localTime: LocalTime
    /// The days of the week, or one date; all days if the message names none.
    public let days: ScheduleDays
    /// The zone of the clock; `nil` for the user's own.
    public let timezone: TimeZoneName?
    /// The type of its notifications; `nil` for the app's usual type.
    public let type: EventType?
    /// The title.
    public let title: String
    /// The body; may be empty.
    public let body: String

    init(_ user: UserID, _ reader: JSONFieldReader) throws(FieldFault) {
        self.user = user
        id = try reader.required("id")
        localTime = try Self.localTime(reader)
        if let date = try Self.date(reader) { days = .once(date) } else { days = .weekly(try Self.days(reader)) }
        timezone = try reader.identifier("timezone")
        // In a body that names its own message, the field is the name of the message and not the reminder's type.
        let named = try reader.identifier("eventType", as: EventType.self)
        type = named?.text == FeedType.reminderSet.rawValue ? nil : named
        guard let title = try reader.text("title", 1...FieldLimits.title) else {
            throw reader.missing("title", "a string")
        }
        guard let body = try reader.text("body", 0...FieldLimits.body) else {
            throw reader.missing("body", "a string")
        }
        self.title = title
        self.body = body
    }

    private static func localTime(_ reader: JSONFieldReader) throws(FieldFault) -> LocalTime {
        guard let value = reader["localTime"] else { throw reader.missing("localTime", LocalTime.rule) }
        guard case .string(let text) = value, let time = LocalTime(validating: text) else {
            throw FieldFault(at: reader.place("localTime"), expected: LocalTime.rule, found: value)
        }
        return time
    }

    /// Returns the only date (`on`), which takes the place of days.
    private static func date(_ reader: JSONFieldReader) throws(FieldFault) -> LocalDate? {
        guard let value = reader["on"] else { return nil }
        guard case .string(let text) = value, let date = LocalDate(validating: text) else {
            throw FieldFault(at: reader.place("on"), expected: LocalDate.rule, found: value)
        }
        guard reader["days"] == nil else {
            throw FieldFault(.invalidField, at: reader.place("on"), "cannot be combined with days")
        }
        return date
    }

    private static func days(_ reader: JSONFieldReader) throws(FieldFault) -> Set<Weekday> {
        guard let elements = try reader.array("days") else { return Set(Weekday.allCases) }
        let place = reader.place("days")
        guard !elements.isEmpty else { throw FieldFault(.invalidField, at: place, "expected at least one day") }
        var days: Set<Weekday> = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let day = Weekday(rawValue: text) else {
                throw FieldFault(
                    at: place.index(index),
                    expected: JSONScope.oneOf(Weekday.self),
                    found: element
                )
            }
            days.insert(day)
        }
        return days
    }
}
