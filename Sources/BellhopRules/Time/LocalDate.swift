/// A date of the Gregorian calendar on a local clock, without a time and without a zone.
public struct LocalDate: Hashable, Comparable, Sendable {
    /// Days since 1970-01-01; negative for earlier dates.
    public let daysSinceEpoch: Int

    /// The required form of a date.
    public static let rule = "a date such as 2026-02-15, between the years 0001 and 9999"

    /// Creates a date from a day number, which must be near enough to 1970 for arithmetic.
    ///
    /// Callers derive it from a `Timestamp` or from a checked date.
    init(daysSinceEpoch: Int) { self.daysSinceEpoch = daysSinceEpoch }

    /// Creates a date of the years 1 to 9999; `nil` if the calendar has no such day.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year)
        else { return nil }
        daysSinceEpoch = Self.number(year: year, month: month, day: day)
    }

    /// Reads `YYYY-MM-DD`; `nil` for any other text.
    public init?(validating text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else { return nil }
        let digits = bytes[0..<4] + bytes[5..<7] + bytes[8..<10]
        guard digits.allSatisfy(IdentifierRules.isDigit) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
        self.init(year: number / 10_000, month: number / 100 % 100, day: number % 100)
    }

    /// The year, the month from 1 and the day from 1.
    ///
    /// Years are counted in eras of 400 years (146,097 days) that begin on 1 March, so that a leap day ends its year.
    /// There are 719,468 days between 0000-03-01 and 1970-01-01.
    public var parts: (year: Int, month: Int, day: Int) {
        let shifted = daysSinceEpoch + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        // Counted from March, every five months have 153 days.
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// The day of the week.
    public var weekday: Weekday {
        // 1970-01-01 was a Thursday, the fourth day of a week that begins with Monday.
        Weekday.allCases[(daysSinceEpoch + 3).modulo(7)]
    }

    /// Returns the date that is a number of days later.
    func advanced(by days: Int) -> LocalDate { LocalDate(daysSinceEpoch: daysSinceEpoch + days) }

    /// Returns whether the left date is earlier.
    public static func < (left: LocalDate, right: LocalDate) -> Bool {
        left.daysSinceEpoch < right.daysSinceEpoch
    }

    /// Returns the days since 1970-01-01 of a date whose parts are in range.
    static func number(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func isLeap(_ year: Int) -> Bool {
        (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
    }

    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension LocalDate: CustomStringConvertible {
    /// The date as `YYYY-MM-DD`.
    public var description: String {
        let (year, month, day) = parts
        return "\(year.padded(to: 4))-\(month.padded(to: 2))-\(day.padded(to: 2))"
    }
}

extension Int {
    /// Returns the remainder, which is never negative.
    func modulo(_ divisor: Int) -> Int {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }

    /// Returns the quotient, rounded towards the past.
    func quotient(_ divisor: Int) -> Int { (self - modulo(divisor)) / divisor }

    /// Returns a number that is not negative, with leading zeros.
    func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }
}

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
