import BellhopRules
import TestSupport
import Testing

@Suite("Daily reminders")
struct ReminderFiringTests {
    private static func reminder(_ zone: String, _ time: String = "09:00") throws -> ReminderFiring {
        ReminderFiring(at: try LocalScheduleTests.time(time), in: try Zones.named(zone))
    }

    private static func date(_ text: String) throws -> LocalDate {
        try #require(LocalDate(validating: text))
    }

    @Test(
        "a reminder fires from its time until less than an hour later, and otherwise on its next date",
        arguments: [
            ("2026-01-10T07:59:59.999999Z", "wait 2026-01-10"), ("2026-01-10T08:00:00Z", "fire 2026-01-10"),
            ("2026-01-10T08:59:59.999999Z", "fire 2026-01-10"), ("2026-01-10T09:00:00Z", "wait 2026-01-11"),
            ("2026-01-14T08:30:00Z", "fire 2026-01-14"), ("2026-01-14T22:00:00Z", "wait 2026-01-15"),
        ]
    )
    func grace(now: String, verdict: String) throws {
        let reminder = try Self.reminder("Europe/Oslo")
        let since = try at("2026-01-01T00:00:00Z")
        let said = reminder.verdict(at: try at(now), since: since, lastDate: try Self.date("2026-01-09"))
        #expect(said.text == verdict)
    }

    @Test(
        "a reminder that is set after its time of today fires tomorrow",
        arguments: [
            ("2026-01-10T07:59:59Z", "fire 2026-01-10"), ("2026-01-10T08:00:00Z", "wait 2026-01-11"),
            ("2026-01-10T08:10:00Z", "wait 2026-01-11"),
        ]
    )
    func setLate(since: String, verdict: String) throws {
        let reminder = try Self.reminder("Europe/Oslo")
        let said = reminder.verdict(at: try at("2026-01-10T08:20:00Z"), since: try at(since), lastDate: nil)
        #expect(said.text == verdict)
    }

    @Test("a reminder fires once for a date, whatever the number of schedulers and the user's travels")
    func oncePerDate() throws {
        let since = try at("2026-01-01T00:00:00Z")
        let rung = try Self.date("2026-03-10")
        let now = try at("2026-03-10T08:00:00Z")
        #expect(
            try Self.reminder("Europe/Oslo").verdict(at: now, since: since, lastDate: rung).text == "wait 2026-03-11"
        )
        // At 09:00 in Honolulu the date is still the tenth.
        let later = try at("2026-03-10T19:00:00Z")
        #expect(
            try Self.reminder("Pacific/Honolulu").verdict(at: later, since: since, lastDate: rung).text
                == "wait 2026-03-11"
        )
        // At 09:00 in Kiritimati the date is the eleventh.
        #expect(
            try Self.reminder("Pacific/Kiritimati").verdict(at: later, since: since, lastDate: rung).text
                == "fire 2026-03-11"
        )
    }

    @Test(
        "in travels and outages a reminder never fires twice for a date or an hour late, and misses no possible time"
    )
    func travels() throws {
        var chance = SeededChance.announced("a year of travels")
        let names = [
            "Europe/Oslo", "Pacific/Apia", "Pacific/Honolulu", "Asia/Kolkata", "America/Nuuk", "Pacific/Kiritimati",
            "Africa/Cairo",
        ]
        let zones = try names.map(Zones.named)
        for _ in 0..<SeededChance.rounds(20) {
            let minute = Int.random(in: 0..<1_440, using: &chance)
            let time = try #require(LocalTime(hour: minute / 60, minute: minute % 60))
            let since = try at("2026-01-01T00:00:00Z")
            var (now, last) = (since, nil as LocalDate?)
            var zone = zones[0]
            for _ in 0..<600 {
                let hours = Int64.random(in: 0..<20, using: &chance) < 19 ? 1 : Int64.random(in: 2...72, using: &chance)
                let asleep = now
                now = Timestamp(
                    clamping: now.microseconds + hours * 3_600_000_000 - Int64.random(in: 0..<60, using: &chance)
                        * 1_000_000
                )
                if Int.random(in: 0..<50, using: &chance) == 0 { zone = zones.randomElement(using: &chance) ?? zone }
                let firing = ReminderFiring(at: time, in: zone)
                switch firing.verdict(at: now, since: since, lastDate: last) {
                case .fire(let slot):
                    #expect(last.map { $0 < slot.date } ?? true)
                    #expect(slot.instant <= now && now.microseconds - slot.instant.microseconds < ReminderFiring.grace)
                    last = slot.date
                case .wait(let slot):
                    #expect(slot.instant > now)
                    // Checked within the hour, it would have fired, so nothing has been due since the last check.
                    guard hours == 1, let due = zone.instant(of: zone.local(at: now).date, at: time) else { break }
                    #expect(!(due > asleep && due <= now && last.map { $0 < zone.local(at: now).date } ?? true))
                case .never: Issue.record("there is always another day")
                }
            }
        }
    }

    @Test("a reminder never fires after the last year")
    func never() throws {
        let reminder = try Self.reminder("Etc/UTC")
        let late = try at("9999-12-31T20:00:00Z")
        #expect(reminder.verdict(at: late, since: late, lastDate: nil) == .never)
    }
}

extension ReminderFiring.Verdict {
    var text: String {
        switch self {
        case .fire(let slot): "fire \(slot.date)"
        case .wait(let slot): "wait \(slot.date)"
        case .never: "never"
        }
    }
}
