import BellhopRules
import Testing

@Suite("Zones from the tz database")
struct ZoneTests {
    @Test(
        "local times are those of the zone's history",
        arguments: [
            ("Europe/Oslo", "2026-03-29T00:59:59Z", "2026-03-29 01:59:59 +01:00"),
            ("Europe/Oslo", "2026-03-29T01:00:00Z", "2026-03-29 03:00 +02:00"),
            ("Australia/Lord_Howe", "2026-04-04T14:59:00Z", "2026-04-05 01:59 +11:00"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z", "2026-04-05 01:30 +10:30"),
            ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29 23:59:59 -10:00"),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31 00:00 +14:00"),
            ("Pacific/Kiritimati", "2026-01-01T00:00:00Z", "2026-01-01 14:00 +14:00"),
            ("Antarctica/Troll", "2026-03-29T00:59:59Z", "2026-03-29 00:59:59 +00:00"),
            ("Antarctica/Troll", "2026-03-29T01:00:00Z", "2026-03-29 03:00 +02:00"),
            ("Africa/Casablanca", "2026-02-15T01:59:59Z", "2026-02-15 02:59:59 +01:00"),
            ("Africa/Casablanca", "2026-02-15T02:00:00Z", "2026-02-15 02:00 +00:00"),
            ("Africa/Casablanca", "2026-03-22T02:00:00Z", "2026-03-22 03:00 +01:00"),
            ("Europe/Dublin", "2026-07-01T12:00:00Z", "2026-07-01 13:00 +01:00"),
            ("Europe/Dublin", "2026-12-01T12:00:00Z", "2026-12-01 12:00 +00:00"),
            ("Asia/Kathmandu", "2026-06-01T00:00:00Z", "2026-06-01 05:45 +05:45"),
            ("America/St_Johns", "2026-01-01T00:00:00Z", "2025-12-31 20:30 -03:30"),
            ("Asia/Beirut", "2026-03-28T21:59:59Z", "2026-03-28 23:59:59 +02:00"),
            ("Asia/Beirut", "2026-03-28T22:00:00Z", "2026-03-29 01:00 +03:00"),
            ("Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24 01:00 +03:00"),
            ("America/Santiago", "2026-09-06T04:00:00Z", "2026-09-06 01:00 -03:00"),
            ("Etc/UTC", "2026-01-01T00:00:00Z", "2026-01-01 00:00 +00:00"),
            ("Africa/Monrovia", "1971-01-01T00:00:00Z", "1970-12-31 23:15:30 -00:44:30"),
            ("Europe/Oslo", "9999-07-01T00:00:00Z", "9999-07-01 02:00 +02:00"),
            ("America/New_York", "2400-02-29T12:00:00Z", "2400-02-29 07:00 -05:00"),
        ]
    )
    func local(zone: String, instant: String, shown: String) throws {
        #expect(try Zones.named(zone).local(at: at(instant)).description == shown)
    }

    @Test("the next change of the clocks is found, and none if there is none")
    func nextTransition() throws {
        let oslo = try Zones.named("Europe/Oslo")
        let spring = try #require(oslo.transition(after: at("2026-01-01T00:00:00Z")))
        #expect(try spring.instant == at("2026-03-29T01:00:00Z"))
        #expect((spring.before, spring.after) == (3600, 7200))
        #expect(try oslo.transition(after: spring.instant)?.instant == at("2026-10-25T01:00:00Z"))
        // Beyond any table, by the rule alone.
        #expect(try oslo.transition(after: at("3000-01-01T00:00:00Z"))?.instant == at("3000-03-30T01:00:00Z"))
        #expect(try oslo.transition(after: at("9999-12-01T00:00:00Z")) == nil)
        #expect(try Zones.named("Asia/Tokyo").transition(after: at("2026-01-01T00:00:00Z")) == nil)
    }
}
