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
