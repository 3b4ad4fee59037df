/// The clock changes of a place.
///
/// The value is created once, from the bytes of a file of the tz database, and then queried often. It does no I/O and
/// is independent of locales. Results are valid from 1970 to 9999: they come from the table of the file first, then
/// from the rule in its footer.
public struct Zone: Hashable, Sendable {
    /// The name of the zone.
    public let name: TimeZoneName
    /// The beginnings of periods, ascending, in seconds since 1970; each one changes the offset.
    private let beginnings: [Int64]
    /// The offsets of the periods.
    ///
    /// The first one applies before any beginning, so there is one more offset than beginnings.
    private let offsets: [Int32]
    /// The rule that applies from `ruleBeginning` on; `nil` if the last offset stays.
    private let rule: DaylightRule?
    private let ruleBeginning: Int64

    /// The largest offset of clocks from UTC in seconds: 26 hours, as RFC 9636 defines it.
    static let furthestOffset = 93_600

    /// Creates a zone from a table that a reader has checked.
    init(name: TimeZoneName, first: Int, changes: [ZoneChange], rule: DaylightRule? = nil, ruleBeginning: Int64 = .min)
    {
        var beginnings: [Int64] = []
        var offsets = [Int32(clamping: first)]
        for change in changes where Int32(clamping: change.offset) != offsets.last {
            beginnings.append(change.seconds)
            offsets.append(Int32(clamping: change.offset))
        }
        self.name = name
        self.beginnings = beginnings
        self.offsets = offsets
        self.rule = rule
        self.ruleBeginning = ruleBeginning
    }

    /// Returns the offset in seconds ahead of UTC; negative to the west.
    public func offset(at instant: Timestamp) -> Int { offset(atSeconds: instant.seconds) }

    /// Returns the reading of the clocks.
    public func local(at instant: Timestamp) -> LocalDateTime {
        let offset = offset(at: instant)
        return LocalDateTime(localSeconds: instant.seconds + offset, offset: offset)
    }

    /// Returns the first change of the clocks after an instant; `nil` if there is none.
    public func transition(after instant: Timestamp) -> Transition? {
        let period = period(atSeconds: instant.seconds)
        guard let end = period.end, let instant = Timestamp(wholeSeconds: end) else { return nil }
        return Transition(instant: instant, before: period.offset, after: offset(atSeconds: end))
    }

    /// A change of the clocks.
    public struct Transition: Hashable, Sendable {
        /// The first instant of the new offset.
        public let instant: Timestamp
        /// The offset before the change, in seconds ahead of UTC.
        public let before: Int
        /// The offset after the change, in seconds ahead of UTC.
        public let after: Int
    }

    func offset(atSeconds seconds: Int) -> Int {
        if let rule, seconds >= ruleBeginning { return rule.offset(at: seconds) }
        return Int(offsets[periodIndex(at: seconds)])
    }

    func period(atSeconds seconds: Int) -> OffsetPeriod {
        if let rule, seconds >= ruleBeginning {
            return OffsetPeriod(offset: rule.offset(at: seconds), end: rule.change(after: seconds))
        }
        let index = periodIndex(at: seconds)
        if index < beginnings.count {
            return OffsetPeriod(offset: Int(offsets[index]), end: Int(beginnings[index]))
        }
        // The last offset of the table equals the first offset of the rule, so the rule's beginning is not a change.
        return OffsetPeriod(offset: Int(offsets[index]), end: rule?.change(after: Int(ruleBeginning)))
    }

    /// Returns the number of periods that have begun, which is the index of the current offset.
    private func periodIndex(at seconds: Int) -> Int {
        var low = 0
        var high = beginnings.count
        while low < high {
            let middle = (low + high) / 2
            if beginnings[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the instant of a date and time on the zone's clocks.
    ///
    /// It is the first instant at which the clocks have reached that reading. If the clocks show the reading twice, it
    /// is the first time; if a change skips the reading, it is the first instant after the change. The result is `nil`
    /// for a day that the zone does not have (Samoa's 30 December 2011), and outside the years 1970 to 9999. A later
    /// reading never gives an earlier instant.
    public func instant(of date: LocalDate, at time: LocalTime) -> Timestamp? {
        let midnight = date.daysSinceEpoch * 86_400
        let first = firstInstant(reaching: midnight)
        guard first + offset(atSeconds: first) < midnight + 86_400 else { return nil }
        return Timestamp(wholeSeconds: firstInstant(reaching: midnight + time.secondOfDay))
    }

    /// Returns every instant at which the zone's clocks show a date and time, in order: none if a change skips it, two
    /// if it occurs twice.
    public func instants(showing date: LocalDate, at time: LocalTime) -> [Timestamp] {
        let reading = date.daysSinceEpoch * 86_400 + time.secondOfDay
        var found: [Timestamp] = []
        var from = reading - Zone.furthestOffset
        while from <= reading + Zone.furthestOffset {
            let period = period(atSeconds: from)
            let candidate = reading - period.offset
            if candidate >= from, period.holds(at: candidate), let instant = Timestamp(wholeSeconds: candidate) {
                found.append(instant)
            }
            guard let end = period.end else { break }
            from = end
        }
        return found
    }

    /// Returns the first second at which the clocks show a reading or a later one, both counted in seconds since 1970.
    ///
    /// The search goes through the periods, starting before any clock on Earth can show the reading. In the first
    /// period whose last reading is later, either the reading occurs, or the period begins after it.
    private func firstInstant(reaching reading: Int) -> Int {
        var from = reading - Zone.furthestOffset
        while true {
            let period = period(atSeconds: from)
            guard let end = period.end, reading >= end + period.offset else {
                return max(from, reading - period.offset)
            }
            from = end
        }
    }
}

/// A change of the clocks to an offset at an instant.
struct ZoneChange: Equatable {
    /// The instant in seconds since 1970.
    let seconds: Int64
    /// The offset after the change, in seconds ahead of UTC.
    let offset: Int
}

extension Timestamp {
    /// Whole seconds since 1970, rounded towards the past.
    var seconds: Int { Int(microseconds / 1_000_000) }

    /// Creates an instant from the result of arithmetic with zones; `nil` outside the years 1970 to 9999.
    init?(wholeSeconds seconds: Int) {
        guard seconds >= 0 else { return nil }
        self.init(seconds: UInt64(seconds))
    }
}

/// A period in which clocks have a constant offset from UTC.
struct OffsetPeriod: Equatable {
    /// The offset in seconds ahead of UTC.
    let offset: Int
    /// The start of the next period in seconds since 1970; `nil` if this period does not end.
    let end: Int?

    /// Returns whether an instant is before the end.
    func holds(at seconds: Int) -> Bool {
        guard let end else { return true }
        return seconds < end
    }
}

extension Zone {
    /// Creates a zone from the offsets of another library over a range of time.
    ///
    /// This is for an app that has a zone of its platform and no file of the tz database. The offset is requested for
    /// every six hours of the range, and each change is located to the second, so that a year needs about 1,500
    /// requests. A change that is reverted within six hours is not detected. Before and after the range, the nearest
    /// offset applies. Offsets beyond 26 hours are limited to 26 hours.
    ///
    /// - Parameters:
    ///   - name: the name of the zone.
    ///   - start: the start of the range.
    ///   - end: the end of the range, as far in the future as queries will be.
    ///   - offset: returns the seconds ahead of UTC at an instant.
    public init(name: TimeZoneName, from start: Timestamp, to end: Timestamp, offset: (Timestamp) -> Int) {
        func ask(_ seconds: Int) -> Int {
            let answer = offset(Timestamp(clamping: Int64(seconds) * 1_000_000))
            return min(max(answer, -Zone.furthestOffset), Zone.furthestOffset)
        }
        let first = ask(start.seconds)
        var changes: [ZoneChange] = []
        var known = (seconds: start.seconds, offset: first)
        while known.seconds < end.seconds {
            let next = min(known.seconds + 21_600, end.seconds)
            guard ask(next) != known.offset else {
                known.seconds = next
                continue
            }
            var (before, after) = (known.seconds, next)
            while after - before > 1 {
                let middle = (before + after) / 2
                if ask(middle) == known.offset { before = middle } else { after = middle }
            }
            known = (after, ask(after))
            changes.append(ZoneChange(seconds: Int64(after), offset: known.offset))
        }
        self.init(name: name, first: first, changes: changes)
    }
}
