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
    public func offset(at instant: Timestamp) -> Int {
        offset(atSeconds: instant.seconds)
    }

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
