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
