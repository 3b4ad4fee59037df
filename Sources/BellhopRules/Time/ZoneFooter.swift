/// The content of a TZif footer for all later years: one offset, or a yearly rule.
///
/// The form is POSIX's `TZ` with the additions of RFC 9636: `std offset [dst [offset] , start [/time] , end [/time]]`.
/// Times are from -167 to 167 hours, and names are in letters or in angle brackets. A second name without a rule is
/// rejected, because its meaning depends on the system.
enum ZoneFooter: Hashable {
    case constant(offset: Int)
    case yearly(DaylightRule)

    /// Parses a footer without its line breaks; `nil` if it is invalid.
    init?(_ bytes: ArraySlice<UInt8>) {
        var reader = FooterReader(rest: bytes)
        guard reader.skipName(), let behind = reader.span(hoursUpTo: 24) else { return nil }
        let standard = -behind
        if reader.isAtEnd {
            self = .constant(offset: standard)
            return
        }
        guard reader.skipName() else { return nil }
        var daylight = standard + 3600
        if !reader.isNext(",") {
            guard let behind = reader.span(hoursUpTo: 24) else { return nil }
            daylight = -behind
        }
        guard reader.skip(","), let start = reader.moment(), reader.skip(","), let end = reader.moment(),
            reader.isAtEnd, abs(daylight) <= Zone.furthestOffset
        else { return nil }
        self = .yearly(DaylightRule(standard: standard, daylight: daylight, start: start, end: end))
    }
}

/// Reads the parts of a footer in order.
private struct FooterReader {
    var rest: ArraySlice<UInt8>

    var isAtEnd: Bool { rest.isEmpty }

    func isNext(_ character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard isNext(character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Skips at least three letters, or letters, digits and signs between angle brackets.
    mutating func skipName() -> Bool {
        if skip("<") {
            let name = rest.prefix {
                IdentifierRules.isLetter($0) || IdentifierRules.isDigit($0) || "+-".utf8.contains($0)
            }
            rest = rest.dropFirst(name.count)
            return !name.isEmpty && skip(">")
        }
        let name = rest.prefix(while: IdentifierRules.isLetter)
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    /// Reads a number of at most three digits.
    mutating func number(upTo limit: Int) -> Int? {
        let digits = rest.prefix(while: IdentifierRules.isDigit)
        guard (1...3).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        let number = digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
        return number <= limit ? number : nil
    }

    /// Reads `[+-]hh[:mm[:ss]]` and returns it in seconds.
    mutating func span(hoursUpTo limit: Int) -> Int? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard let hours = number(upTo: limit) else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where skip(":") {
            guard let count = number(upTo: 59) else { return nil }
            seconds += count * unit
        }
        return isNegative ? -seconds : seconds
    }

    mutating func moment() -> YearlyMoment? {
        guard let day = day() else { return nil }
        guard skip("/") else { return YearlyMoment(day: day, time: 7200) }
        guard let time = span(hoursUpTo: 167) else { return nil }
        return YearlyMoment(day: day, time: time)
    }

    private mutating func day() -> YearlyMoment.Day? {
        if skip("J") {
            guard let number = number(upTo: 365), number >= 1 else { return nil }
            return .withoutLeapDay(number)
        }
        guard skip("M") else { return number(upTo: 365).map(YearlyMoment.Day.ofYear) }
        guard let month = number(upTo: 12), month >= 1, skip("."), let week = number(upTo: 5), week >= 1, skip("."),
            let weekday = number(upTo: 6)
        else { return nil }
        return .ofMonth(month: month, week: week, weekday: weekday)
    }
}

/// A yearly rule for clock changes, as the footer of a TZif file writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// "Daylight" is the footer's second offset, whatever a country calls it. In Ireland, it is the winter offset, which is
/// behind the first.
struct DaylightRule: Hashable {
    /// The offset in seconds ahead of UTC outside daylight time.
    let standard: Int
    /// The offset in seconds ahead of UTC during daylight time.
    let daylight: Int
    /// The start of daylight time, by clocks that show standard time.
    let start: YearlyMoment
    /// The end of daylight time, by clocks that show daylight time.
    let end: YearlyMoment

    /// Returns the offset in seconds ahead of UTC at an instant in seconds since 1970.
    func offset(at seconds: Int) -> Int {
        let year = year(of: seconds)
        var latest = Boundary(seconds: .min, offset: standard)
        // A rule may place a moment up to a week outside its year, so the neighbouring years count, too. Of two moments
        // at one instant, the later one in this order counts. If an end meets the next year's start, daylight time
        // lasts all year. If a start meets the same year's end, daylight time never begins.
        for year in year - 1...year + 1 {
            let (first, second) = boundaries(of: year)
            if first.seconds <= seconds, first.seconds >= latest.seconds { latest = first }
            if second.seconds <= seconds, second.seconds >= latest.seconds { latest = second }
        }
        return latest.offset
    }

    /// Returns the first second after another one at which the offset changes.
    ///
    /// The result is `nil` if there is no change within nine years, the longest possible wait for a leap day.
    func change(after seconds: Int) -> Int? {
        let year = year(of: seconds)
        return firstChange(after: seconds, in: year - 1...year + 2)
            ?? firstChange(after: seconds, in: year + 2...year + 9)
    }

    private func firstChange(after seconds: Int, in years: ClosedRange<Int>) -> Int? {
        var earliest: Int?
        for year in years {
            let (first, second) = boundaries(of: year)
            for candidate in [first.seconds, second.seconds] where candidate > seconds && candidate < earliest ?? .max {
                guard offset(at: candidate) != offset(at: candidate - 1) else { continue }
                earliest = candidate
            }
        }
        return earliest
    }

    private func year(of seconds: Int) -> Int {
        LocalDate(daysSinceEpoch: (seconds + standard).quotient(86_400)).parts.year
    }

    /// The start of an offset, in seconds since 1970.
    private struct Boundary {
        let seconds: Int
        let offset: Int
    }

    /// Returns the two moments of a year, in order.
    private func boundaries(of year: Int) -> (Boundary, Boundary) {
        let start = Boundary(seconds: start.seconds(in: year) - standard, offset: daylight)
        let end = Boundary(seconds: end.seconds(in: year) - daylight, offset: standard)
        return start.seconds <= end.seconds ? (start, end) : (end, start)
    }
}

/// A moment that occurs every year, in one of the three forms of POSIX.
struct YearlyMoment: Hashable {
    /// The day of the year.
    enum Day: Hashable {
        /// The form `Jn`, from 1 to 365.
        ///
        /// 29 February is never counted, so 60 is always 1 March.
        case withoutLeapDay(Int)
        /// The form `n`, from 0 to 365.
        ///
        /// 29 February is counted in leap years.
        case ofYear(Int)
        /// The form `Mm.w.d`: month 1 to 12, week 1 to 5 (5 is the last one), and a weekday from 0, Sunday.
        case ofMonth(month: Int, week: Int, weekday: Int)
    }

    /// The day.
    let day: Day
    /// Seconds from the day's midnight, at most a week before or after it.
    let time: Int

    /// Returns the moment in one year, in seconds since 1970 on the local clock.
    func seconds(in year: Int) -> Int { dayNumber(in: year) * 86_400 + time }

    private func dayNumber(in year: Int) -> Int {
        switch day {
        case .withoutLeapDay(let number):
            let leapDay = LocalDate.isLeap(year) && number >= 60 ? 1 : 0
            return LocalDate.number(year: year, month: 1, day: 1) + number - 1 + leapDay
        case .ofYear(let number):
            return LocalDate.number(year: year, month: 1, day: 1) + number
        case .ofMonth(let month, let week, let weekday):
            let first = LocalDate.number(year: year, month: month, day: 1)
            // 1970-01-01 was a Thursday, day 4 of a week from Sunday.
            let ahead = (weekday - (first + 4)).modulo(7)
            let day = ahead + (week - 1) * 7
            return first + (day < LocalDate.days(in: month, of: year) ? day : day - 7)
        }
    }
}
