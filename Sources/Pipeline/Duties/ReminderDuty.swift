import AMQP
import BellhopRules
import Cryptography
package import ServiceRuntime
package import Settings
import Store

/// Fires users' reminders at their local times.
///
/// Each firing is an event like any other, published once per local date.
///
/// Any number may run: each reminder is held by one scheduler at a time. The event's id is derived from the reminder
/// and the date, so that a repeated firing after a crash creates no second notification.
package struct ReminderDuty: Service {
    package let name = "reminders"
    private let book: ReminderStore
    private let catalogs: CatalogSource
    private let zones: ZoneLibrary
    private let context: SchedulerContext
    private let logger: Logger
    private let loop: DutyLoop
    private let rung: LabelledMetric<Counter>
    private let dropped: LabelledMetric<Counter>

    package init(
        context: SchedulerContext,
        catalogs: CatalogSource,
        zones: ZoneLibrary,
        interval: Duration = .seconds(1)
    ) {
        self.context = context
        self.catalogs = catalogs
        self.zones = zones
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot read due reminders")
        book = ReminderStore(pool: context.pool)
        rung = context.metrics.counter("bellhop_reminders_total", help: "Reminders that rang.", labels: ["app"])
        dropped = context.metrics.counter(
            "bellhop_reminders_dropped_total",
            help: "Rings of reminders that were dropped because the app's catalogue does not know their type.",
            labels: ["app"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = PollWindow(every: loop.interval)
        await loop.run(until: drain) { try await ring(&lookBack) }
    }

    private func ring(_ lookBack: inout PollWindow) async throws(StoreError) -> DutyLoop.Next {
        let open = try await lookBack.look { (span) throws(StoreError) in
            try await book.open(atMost: Self.batch, within: span, notBeyond: context.latest)
        }
        guard !open.isEmpty else { return .later }
        let now = context.time.timestamp
        var steps = open.map { step($0, now) }
        let due = steps.indices.filter { steps[$0].ring != nil }
        let outcomes = await context.publisher.publish(due.compactMap { steps[$0].ring })
        // A reminder without a publisher confirm stays unchanged and fires at the next poll.
        let silent = zip(due, outcomes).filter { $1 != .confirmed }.map(\.0)
        for index in silent { steps[index].plan = nil }
        if !silent.isEmpty { lookBack.putBack() }
        try await book.release(silent.map { open[$0] })
        let unexplained = Set(zip(open, steps).filter(\.1.isPutOff).map(\.0.key.app.text)).sorted()
        if !unexplained.isEmpty {
            logger.warning(
                "reminders deferred: catalogue or time zone missing on this host",
                ["apps": .text(unexplained.joined(separator: ", "))]
            )
        }
        let plans = steps.compactMap(\.plan)
        try await book.keep(plans)
        for index in due where steps[index].plan != nil { rung.with(open[index].key.app.text).increment() }
        for index in steps.indices where steps[index].isDropped { dropped.with(open[index].key.app.text).increment() }
        return plans.count < Self.batch ? .later : .atOnce
    }

    /// The next action for a reminder.
    private struct Step {
        var ring: OutgoingMessage?
        var plan: ReminderPlan?
        /// Whether this host has no catalogue or no time zone for it.
        var isPutOff = false
        /// Whether it is due, but the catalogue does not contain its type.
        var isDropped = false
    }

    private func step(_ reminder: Reminder, _ now: Timestamp) -> Step {
        guard let catalog = catalogs.current[reminder.key.app], let zone = zone(of: reminder, catalog) else {
            // These catalogues may be older than those of the worker that accepted it.
            let later = Timestamp(clamping: now.microseconds + Self.untilNextLook.microseconds)
            return Step(plan: ReminderPlan(reminder, next: later), isPutOff: true)
        }
        let firing = ReminderFiring(at: reminder.localTime, on: reminder.days, in: zone)
        switch firing.verdict(at: now, since: reminder.plannedFrom, lastDate: reminder.lastFiredOn) {
        case .never: return Step(plan: ReminderPlan(reminder, next: nil))
        case .wait(let slot): return Step(plan: ReminderPlan(reminder, next: slot.instant))
        case .fire(let slot):
            let next = firing.schedule.next(after: now, lastDate: slot.date)
            let ring = message(reminder, slot, catalog)
            return Step(
                ring: ring,
                plan: ReminderPlan(reminder, next: next?.instant, firedOn: slot.date),
                isDropped: ring == nil
            )
        }
    }

    /// Returns the reminder's zone, or otherwise the app's.
    private func zone(of reminder: Reminder, _ catalog: Catalog) -> Zone? {
        reminder.timezone.flatMap { zones[$0] } ?? zones[catalog.timezone]
    }

    /// Returns the event of a firing, the same on every host for a reminder and a date; `nil` if the catalogue does not
    /// contain its type.
    ///
    /// Users set reminders, so an unknown type creates no dead letter: any user could create any number of them. The
    /// event is never mailed: the user chose the text and the address, and the mail would be in the app's name.
    private func message(_ reminder: Reminder, _ slot: LocalSchedule.Slot, _ catalog: Catalog) -> OutgoingMessage? {
        let app = reminder.key.app
        guard let name = reminder.type ?? catalog.reminderType, catalog[name] != nil else { return nil }
        let type = name.text
        let event = JSONObject([
            ("id", .string(Self.eventID(reminder.id, slot))), ("app", .string(app.text)),
            ("eventType", .string(type)),
            ("to", .object(JSONObject([("user", .string(reminder.key.user.text))]))),
            ("title", .string(reminder.title)), ("body", .string(reminder.body)),
            ("targetId", .string(reminder.id.text)), ("sentAtIso", .string(slot.instant.description)),
            (EventField.noEmail.rawValue, .bool(true)),
        ])
        return context.event(app, type, JSONWriter.canonicalBytes(of: .object(event)))
    }

    /// Returns the event's id; it contains a hash of a name that is too long for an id.
    private static func eventID(_ reminder: ReminderID, _ slot: LocalSchedule.Slot) -> String {
        let id = "reminder:\(reminder.text):\(slot.date)"
        guard EventID(validating: id) == nil else { return id }
        return "reminder:\(SHA256.digest(of: Array(reminder.text.utf8))):\(slot.date)"
    }

    private static let batch = 200
    /// The pause for a reminder that this scheduler's catalogues do not contain; well within the hour of its firing.
    private static let untilNextLook = Duration.seconds(1_800)
}
