import BellhopRules
import Testing

@Suite("Reminders for one date")
struct SingleDateTests {
    private static func reminder(_ date: String, _ time: String, _ zone: String) throws -> ReminderFiring {
        ReminderFiring(
            at: try LocalScheduleTests.time(time),
            on: .once(try #require(LocalDate(validating: date))),
            in: try Zones.named(zone)
        )
    }

    @Test(
        "a reminder waits for its date, fires once, and then never again",
        arguments: [
            ("2026-11-01T00:00:00Z", "wait 2026-12-01"), ("2026-12-01T16:29:59Z", "wait 2026-12-01"),
            ("2026-12-01T16:30:00Z", "fire 2026-12-01"), ("2026-12-01T17:29:59Z", "fire 2026-12-01"),
            ("2026-12-01T17:30:00Z", "never"), ("2027-12-01T16:30:00Z", "never"),
        ]
    )
    func verdicts(now: String, verdict: String) throws {
        let reminder = try Self.reminder("2026-12-01", "17:30", "Europe/Oslo")
        let since = try at("2026-10-01T00:00:00Z")
        let first = reminder.verdict(at: try at(now), since: since, lastDate: nil)
        #expect(first.text == verdict)
        let date = try #require(LocalDate(validating: "2026-12-01"))
        let second = reminder.verdict(at: try at(now), since: since, lastDate: date)
        #expect(second.text == "never")
    }

    @Test(
        "a time that a clock change skips or repeats is due once",
        arguments: [
            ("2026-03-29", "02:30", "2026-03-29T01:00:00.000Z"), ("2026-10-25", "02:30", "2026-10-25T00:30:00.000Z"),
        ]
    )
    func clockChanges(date: String, time: String, instant: String) throws {
        let reminder = try Self.reminder(date, time, "Europe/Oslo")
        let start = try at("2026-01-01T00:00:00Z")
        let slot = try #require(reminder.schedule.next(after: start))
        #expect(slot.instant.description == instant)
        #expect(reminder.schedule.next(after: slot.instant) == nil)
    }

    @Test("a date that the zone does not have never comes")
    func skippedDate() throws {
        let reminder = try Self.reminder("2011-12-30", "08:00", "Pacific/Apia")
        let start = try at("2011-12-01T00:00:00Z")
        #expect(reminder.schedule.next(after: start) == nil)
    }

    @Test("days are written as one text and read back")
    func text() throws {
        let date = try #require(LocalDate(validating: "2026-12-01"))
        let days: [(ScheduleDays, String)] = [
            (.once(date), "2026-12-01"), (.weekly([.friday, .monday]), "mon,fri"),
            (.weekly(Set(Weekday.allCases)), "mon,tue,wed,thu,fri,sat,sun"),
        ]
        for (days, text) in days {
            #expect(days.text == text && ScheduleDays(text: text) == days)
        }
        #expect(ScheduleDays.weekly([]).text == "mon,tue,wed,thu,fri,sat,sun")
    }
}
