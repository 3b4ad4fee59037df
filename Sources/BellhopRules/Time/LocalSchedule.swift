/// Times of the day on a user's own clock, on some days of the week or on all.
///
/// A slot is a date and a time on that clock, and comes once, whatever the clocks do: see `Zone.instant(of:at:)`. Slots
/// never overtake one another. Where a change skips several of them, they share the first instant after it, and that is
/// one run, in the name of the earliest.
public struct LocalSchedule: Hashable, Sendable {
    /// The times, earliest first, each once; at least one.
    public let times: [LocalTime]
    /// The days; at least one.
    public let days: Set<Weekday>
    /// Whose clocks count.
    public let zone: Zone

    /// One time a day; no day named means all of them.
    public init(at time: LocalTime, on days: Set<Weekday> = [], in zone: Zone) {
        self.init(sorted: [time], days, zone)
    }

    /// Any number of times a day, nil where there is none; no day named means all of them.
    public init?(at times: some Sequence<LocalTime>, on days: Set<Weekday> = [], in zone: Zone) {
        let sorted = Set(times).sorted()
        guard !sorted.isEmpty else { return nil }
        self.init(sorted: sorted, days, zone)
    }

    private init(sorted times: [LocalTime], _ days: Set<Weekday>, _ zone: Zone) {
        self.times = times
        self.days = days.isEmpty ? Set(Weekday.allCases) : days
        self.zone = zone
    }

    /// A date and time at which the schedule runs.
    public struct Slot: Hashable, Sendable {
        /// The date on the user's clock; that of the schedule, also where a change moved the instant past midnight.
        public let date: LocalDate
        /// The time on the user's clock, whether the clock ever showed it or not.
        public let time: LocalTime
        /// When that is.
        public let instant: Timestamp
    }

    /// The first slot whose instant is later than another one; nil where the year 9999 ends before.
    ///
    /// - Parameters:
    ///   - instant: what the slot has to be later than; a slot at this very instant has been.
    ///   - lastDate: the date of the last slot that ran, where each date may have one run only. It matters when the
    ///     user has flown to a zone where that date is not over or has not begun.
    /// - Returns: the slot, whose date is later than `lastDate`.
    public func next(after instant: Timestamp, lastDate: LocalDate? = nil) -> Slot? {
        var date = zone.local(at: instant).date
        if let lastDate, lastDate >= date { date = lastDate.advanced(by: 1) }
        // A week, and another one where the zone has skipped the day: some slot of a fortnight is later.
        for date in (0...14).map(date.advanced) where days.contains(date.weekday) {
            for time in times {
                guard let candidate = zone.instant(of: date, at: time), candidate > instant else { continue }
                return Slot(date: date, time: time, instant: candidate)
            }
        }
        return nil
    }
}
