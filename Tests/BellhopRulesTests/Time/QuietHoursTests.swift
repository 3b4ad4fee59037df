import BellhopRules
import Testing

@Suite("Quiet hours")
struct QuietHoursTests {
    @Test(
        "quiet hours end at the first instant whose hour is outside",
        arguments: [
            // Across midnight, both ends exact to the second.
            ("Europe/Oslo", 22, 7, "2026-01-10T20:59:59.999999Z", nil),
            ("Europe/Oslo", 22, 7, "2026-01-10T21:00:00Z", "2026-01-11T06:00:00.000Z"),
            ("Europe/Oslo", 22, 7, "2026-01-11T05:59:59.999999Z", "2026-01-11T06:00:00.000Z"),
            ("Europe/Oslo", 22, 7, "2026-01-11T06:00:00Z", nil),
            // Within a day.
            ("Asia/Kathmandu", 9, 17, "2026-01-10T03:15:00Z", "2026-01-10T11:15:00.000Z"),
            ("Asia/Kathmandu", 9, 17, "2026-01-10T03:14:59Z", nil),
            // The same hour: never quiet.
            ("Europe/Oslo", 22, 22, "2026-01-10T21:30:00Z", nil),
            // A night with a change of the clocks is an hour shorter, or longer.
            ("Europe/Oslo", 22, 7, "2026-03-28T22:00:00Z", "2026-03-29T05:00:00.000Z"),
            ("Europe/Oslo", 22, 7, "2026-10-24T21:00:00Z", "2026-10-25T06:00:00.000Z"),
            // The end is skipped: quiet hours end at the jump.
            ("Europe/Oslo", 0, 2, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00.000Z"),
            // The end occurs twice: quiet hours end the first time, and begin again in the repeated hour.
            ("Europe/Oslo", 1, 3, "2026-10-25T00:30:00Z", "2026-10-25T02:00:00.000Z"),
            ("Europe/Oslo", 1, 2, "2026-10-24T23:30:00Z", "2026-10-25T00:00:00.000Z"),
            ("Australia/Lord_Howe", 23, 2, "2026-04-04T14:30:00Z", "2026-04-04T15:30:00.000Z"),
            // The only hour outside does not exist that night: quiet until the next one.
            ("Europe/Oslo", 3, 2, "2026-03-28T23:00:00Z", "2026-03-30T00:00:00.000Z"),
            // A change of two hours.
            ("Antarctica/Troll", 22, 2, "2026-03-29T00:30:00Z", "2026-03-29T01:00:00.000Z"),
            // Midnight does not exist.
            ("Africa/Cairo", 20, 0, "2026-04-23T21:59:00Z", "2026-04-23T22:00:00.000Z"),
            // A whole day does not exist.
            ("Pacific/Apia", 22, 7, "2011-12-30T09:30:00Z", "2011-12-30T17:00:00.000Z"),
            // By the rule, long after any table.
            ("Europe/Oslo", 22, 7, "3000-03-29T23:00:00Z", "3000-03-30T05:00:00.000Z"),
        ] as [(String, Int, Int, String, String?)]
    )
    func until(zone: String, start: Int, end: Int, instant: String, until: String?) throws {
        let hours = QuietHours(enabled: true, startHour: start, endHour: end)
        #expect(try hours.until(at(instant), in: Zones.named(zone))?.description == until)
    }

    @Test("disabled quiet hours never apply")
    func off() throws {
        let hours = QuietHours(enabled: false, startHour: 0, endHour: 23)
        #expect(try hours.until(at("2026-01-10T12:00:00Z"), in: Zones.named("Etc/UTC")) == nil)
        #expect(!hours.holds(atHour: 12))
    }

    @Test("hours that no clock shows are moved to the nearer end")
    func clamped() {
        let hours = QuietHours(enabled: true, startHour: -5, endHour: .max)
        #expect([hours.startHour, hours.endHour] == [0, 23])
    }

    @Test("quiet hours end with the last year")
    func end() throws {
        let hours = QuietHours(enabled: true, startHour: 22, endHour: 7)
        #expect(
            hours.until(try at("9999-12-31T23:00:00Z"), in: try Zones.named("Etc/UTC"))?.description
                == "9999-12-31T23:59:59.999999Z"
        )
    }
}
