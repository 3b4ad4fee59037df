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
    public init(at time: LocalTime, on days: Set<Weekday> = [], in zone: Zone) {
        schedule = LocalSchedule(at: time, on: days, in: zone)
    }

    /// The next action for a reminder.
    public enum Verdict: Hashable, Sendable {
        /// Fire for this slot, and store its date as the last one.
        case fire(LocalSchedule.Slot)
        /// Wait for this slot.
        case wait(LocalSchedule.Slot)
        /// Do nothing, because there is no slot before the end of the year 9999.
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
