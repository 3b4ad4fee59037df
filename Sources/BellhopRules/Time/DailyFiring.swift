/// When a reminder rings: once for each date on the user's clock, and not much later than it should have.
///
/// Whoever runs it keeps two things: since when the reminder is as it is, and the date of the last slot that rang. With
/// them any number of schedulers come to the same answer after any pause. After a change of zone the next ring is by
/// the new zone's clocks, and never for a date that has had its ring.
public struct DailyFiring: Hashable, Sendable {
    /// The time, the days and the zone as they are now.
    public let schedule: LocalSchedule

    /// How late a ring may not be any more, in microseconds: one hour.
    ///
    /// One that is as late as that waits for its next date.
    public static let grace: Int64 = 3_600_000_000

    /// A reminder at this time.
    public init(at time: LocalTime, on days: Set<Weekday> = [], in zone: Zone) {
        schedule = LocalSchedule(at: time, on: days, in: zone)
    }

    /// What is to be done now.
    public enum Verdict: Hashable, Sendable {
        /// Ring for this slot, and keep its date as the last one.
        case fire(LocalSchedule.Slot)
        /// Nothing before this slot.
        case wait(LocalSchedule.Slot)
        /// Nothing any more: the year 9999 ends before.
        case never
    }

    /// Whether the reminder rings now, and if not, when it does.
    ///
    /// - Parameters:
    ///   - now: the present instant.
    ///   - since: when the user set or changed the reminder: a time that was past then rings tomorrow.
    ///   - lastDate: the date of the last slot that rang; nil where none did.
    /// - Returns: what to do, with the slot that it is about.
    public func verdict(at now: Timestamp, since: Timestamp, lastDate: LocalDate?) -> Verdict {
        let tooLate = Timestamp(clamping: now.microseconds - Self.grace)
        guard let slot = schedule.next(after: max(since, tooLate), lastDate: lastDate) else { return .never }
        return slot.instant <= now ? .fire(slot) : .wait(slot)
    }
}
