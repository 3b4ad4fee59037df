/// When the clocks of a place change, and by how much.
///
/// A value that is made once, from the bytes of a file of the tz database, and then asked often: it does no I/O and
/// knows no locale. Answers hold from 1970 to 9999: by the table of the file first, then by the rule in its footer.
public struct Zone: Hashable, Sendable {
    /// The name it goes by.
    public let name: TimeZoneName
    /// Where periods begin, ascending, in seconds since 1970; none of them changes nothing.
    private let beginnings: [Int64]
    /// What each period's offset is; the first one is in force before any beginning, so there is one more of them.
    private let offsets: [Int32]
    /// What is in force from `ruleBeginning` on; nil where the last offset lasts.
    private let rule: DaylightRule?
    private let ruleBeginning: Int64

    /// The furthest that clocks may be from UTC, in seconds: 26 hours, as RFC 9636 has it.
    static let furthestOffset = 93_600

    /// Takes a table that a reader has checked.
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

    /// Seconds by which the clocks are ahead of UTC; negative to the west.
    public func offset(at instant: Timestamp) -> Int {
        offset(atSeconds: instant.seconds)
    }

    /// What the clocks show.
    public func local(at instant: Timestamp) -> LocalMoment {
        let offset = offset(at: instant)
        return LocalMoment(localSeconds: instant.seconds + offset, offset: offset)
    }

    /// The first change of the clocks after an instant, nil where there is none any more.
    public func transition(after instant: Timestamp) -> Transition? {
        let period = period(atSeconds: instant.seconds)
        guard let end = period.end, let instant = Timestamp(wholeSeconds: end) else { return nil }
        return Transition(instant: instant, before: period.offset, after: offset(atSeconds: end))
    }

    /// A change of the clocks.
    public struct Transition: Hashable, Sendable {
        /// The first instant of the new offset.
        public let instant: Timestamp
        /// Seconds ahead of UTC until then.
        public let before: Int
        /// Seconds ahead of UTC from then on.
        public let after: Int
    }

    func offset(atSeconds seconds: Int) -> Int {
        if let rule, seconds >= ruleBeginning { return rule.offset(at: seconds) }
        return Int(offsets[periodIndex(at: seconds)])
    }

    func period(atSeconds seconds: Int) -> ClockPeriod {
        if let rule, seconds >= ruleBeginning {
            return ClockPeriod(offset: rule.offset(at: seconds), end: rule.change(after: seconds))
        }
        let index = periodIndex(at: seconds)
        if index < beginnings.count {
            return ClockPeriod(offset: Int(offsets[index]), end: Int(beginnings[index]))
        }
        // What the table says last is what the rule says first, so the rule's beginning is no change.
        return ClockPeriod(offset: Int(offsets[index]), end: rule?.change(after: Int(ruleBeginning)))
    }

    /// How many periods have begun by then: the index of the offset that is in force.
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

/// The clocks go to an offset at an instant.
struct ZoneChange: Equatable {
    /// Seconds since 1970.
    let seconds: Int64
    /// Seconds ahead of UTC from then on.
    let offset: Int
}

extension Timestamp {
    /// Whole seconds since 1970, rounded towards the past.
    var seconds: Int { Int(microseconds / 1_000_000) }

    /// Takes seconds that arithmetic with zones has brought forth; nil outside the years 1970 to 9999.
    init?(wholeSeconds seconds: Int) {
        guard seconds >= 0 else { return nil }
        self.init(seconds: UInt64(seconds))
    }
}
