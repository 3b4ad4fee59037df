/// Times of the day on a user's own clock, on some or all days of the week or on one date.
///
/// A slot is a date and a time on that clock, and occurs once, whatever the clocks do: see `Zone.instant(of:at:)`.
/// Slots keep their order. If a change skips several slots, they share the first instant after it and count as one run,
/// which belongs to the earliest.
public struct LocalSchedule: Hashable, Sendable {
    /// The times, earliest first, each once; at least one.
    public let times: [LocalTime]
    /// The days.
    public let days: ScheduleDays
    /// The zone of the clock.
    public let zone: Zone

    /// Creates a schedule with one time per day; no named day means all days.
    public init(at time: LocalTime, on days: Set<Weekday> = [], in zone: Zone) {
        self.init(at: time, on: .weekly(days), in: zone)
    }

    /// Creates a schedule with one time on days of the week, or on one date.
    public init(at time: LocalTime, on days: ScheduleDays, in zone: Zone) {
        self.init(sorted: [time], days, zone)
    }

    /// Creates a schedule with any number of times per day; `nil` if there is no time.
    ///
    /// No named day means all days.
    public init?(at times: some Sequence<LocalTime>, on days: Set<Weekday> = [], in zone: Zone) {
        let sorted = Set(times).sorted()
        guard !sorted.isEmpty else { return nil }
        self.init(sorted: sorted, .weekly(days), zone)
    }

    private init(sorted times: [LocalTime], _ days: ScheduleDays, _ zone: Zone) {
        self.times = times
        self.days = days
        self.zone = zone
    }

    /// A date and time at which the schedule runs.
    public struct Slot: Hashable, Sendable {
        /// The date of the schedule on the user's clock, even if a change moved the instant past midnight.
        public let date: LocalDate
        /// The time on the user's clock, even if the clock never showed it.
        public let time: LocalTime
        /// The instant of the slot.
        public let instant: Timestamp
    }

    /// Returns the first slot whose instant is later than another one; `nil` if there is none before the end of the
    /// year 9999.
    ///
    /// - Parameters:
    ///   - instant: the instant after which the slot must be; a slot at the same instant is in the past.
    ///   - lastDate: the date of the last slot that ran, if each date may have only one run. It matters if the user has
    ///     travelled to a zone in which that date is not over or has not begun.
    /// - Returns: the slot, whose date is later than `lastDate`.
    public func next(after instant: Timestamp, lastDate: LocalDate? = nil) -> Slot? {
        var date = zone.local(at: instant).date
        if let lastDate, lastDate >= date { date = lastDate.advanced(by: 1) }
        if case .once(let only) = days { date = max(date, only) }
        // The loop covers one week, and a second one in case the zone has skipped the day: some slot within a fortnight
        // is later. A single date can only be the first.
        for date in (0...14).map(date.advanced) where days.contain(date) {
            for time in times {
                guard let candidate = zone.instant(of: date, at: time), candidate > instant else { continue }
                return Slot(date: date, time: time, instant: candidate)
            }
        }
        return nil
    }
}

/// The times at which a reminder fires: once for each date on the user's clock, and with a limited delay.
///
/// The caller stores the time of the reminder's last change and the date of the last slot that fired. With these two
/// values, any number of schedulers arrive at the same result after any pause. After a change of zone, the next firing
/// follows the new zone's clocks, and never repeats a date that has fired.
public struct ReminderFiring: Hashable, Sendable {
    /// The current time, days and zone.
    public let schedule: LocalSchedule

    /// The delay from which a reminder no longer fires: one hour, in microseconds.
    ///
    /// A reminder with this delay waits for its next date.
    public static let grace: Int64 = 3_600_000_000

    /// Creates a reminder at this time.
    public init(at time: LocalTime, on days: ScheduleDays = .weekly([]), in zone: Zone) {
        schedule = LocalSchedule(at: time, on: days, in: zone)
    }

    /// The next action for a reminder.
    public enum Verdict: Hashable, Sendable {
        /// Fire for this slot, and store its date as the last one.
        case fire(LocalSchedule.Slot)
        /// Wait for this slot.
        case wait(LocalSchedule.Slot)
        /// Do nothing, because there is no further slot: the date is over.
        case never
    }

    /// Returns whether the reminder fires now, and if not, the slot that it waits for.
    ///
    /// - Parameters:
    ///   - now: the present instant.
    ///   - since: the time at which the user set or changed the reminder; a local time that had passed by then first
    ///     fires on the next date.
    ///   - lastDate: the date of the last slot that fired; `nil` if none has.
    /// - Returns: the action, with its slot.
    public func verdict(at now: Timestamp, since: Timestamp, lastDate: LocalDate?) -> Verdict {
        let tooLate = Timestamp(clamping: now.microseconds - Self.grace)
        guard let slot = schedule.next(after: max(since, tooLate), lastDate: lastDate) else { return .never }
        return slot.instant <= now ? .fire(slot) : .wait(slot)
    }
}
