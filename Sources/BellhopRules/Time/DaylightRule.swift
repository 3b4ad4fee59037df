/// A yearly rule by which clocks go forth and back, as the footer of a TZif file writes it:
/// `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// "Daylight" is the footer's second offset, whatever a country calls it: Ireland's is the one of winter, and lies
/// behind the first.
struct DaylightRule: Hashable {
    /// Seconds ahead of UTC when the daylight offset is not in force.
    let standard: Int
    /// Seconds ahead of UTC when it is.
    let daylight: Int
    /// When the daylight offset begins, by clocks that show standard time.
    let start: YearlyMoment
    /// When it ends, by clocks that show daylight time.
    let end: YearlyMoment

    /// Seconds ahead of UTC at an instant in seconds since 1970.
    func offset(at seconds: Int) -> Int {
        let year = year(of: seconds)
        var latest = Boundary(seconds: .min, offset: standard)
        // A rule may place a moment up to a week outside its year, so the years beside count, too. Of two moments at
        // one instant the later one in this order counts: where an end meets the next year's start, daylight time lasts
        // all year; where a start meets the end of its own year, it never comes.
        for year in year - 1...year + 1 {
            let (first, second) = boundaries(of: year)
            if first.seconds <= seconds, first.seconds >= latest.seconds { latest = first }
            if second.seconds <= seconds, second.seconds >= latest.seconds { latest = second }
        }
        return latest.offset
    }

    /// The first second after another one at which the offset becomes a different one; nil where none comes within nine
    /// years, the longest that a leap day can be away.
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

    /// Where an offset begins, in seconds since 1970.
    private struct Boundary {
        let seconds: Int
        let offset: Int
    }

    /// The two moments of a year, in order.
    private func boundaries(of year: Int) -> (Boundary, Boundary) {
        let start = Boundary(seconds: start.seconds(in: year) - standard, offset: daylight)
        let end = Boundary(seconds: end.seconds(in: year) - daylight, offset: standard)
        return start.seconds <= end.seconds ? (start, end) : (end, start)
    }
}
