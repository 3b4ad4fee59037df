import BellhopRules
import Testing

@Suite("Schedules in a user's time zone")
struct LocalScheduleTests {
    static func time(_ text: String) throws -> LocalTime {
        try #require(LocalTime(validating: text))
    }

    @Test(
        "the next run is right across all changes of the clocks",
        arguments: [
            // A time that has passed, or is exactly now, comes tomorrow.
            ("Europe/Oslo", "09:00", "2026-01-10T07:59:59.999999Z", "2026-01-10T08:00:00.000Z"),
            ("Europe/Oslo", "09:00", "2026-01-10T08:00:00Z", "2026-01-11T08:00:00.000Z"),
            // A time that is skipped comes right after the gap.
            ("Europe/Oslo", "02:30", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"),
            ("Europe/Oslo", "02:30", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00.000Z"),
            // A time that occurs twice counts the first time.
            ("Europe/Oslo", "02:30", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00.000Z"),
            ("Europe/Oslo", "02:30", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00.000Z"),
            ("Australia/Lord_Howe", "01:45", "2026-04-04T00:00:00Z", "2026-04-04T14:45:00.000Z"),
            ("Australia/Lord_Howe", "01:45", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00.000Z"),
            ("Australia/Lord_Howe", "02:15", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00.000Z"),
            // Midnight is skipped.
            ("Asia/Beirut", "00:00", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00.000Z"),
            ("Africa/Cairo", "00:30", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00.000Z"),
            ("America/Santiago", "00:00", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00.000Z"),
            ("America/Asuncion", "00:15", "2023-09-30T12:00:00Z", "2023-10-01T04:00:00.000Z"),
            // Midnight occurs twice; the date before has its last hour twice.
            ("Asia/Beirut", "23:30", "2026-10-24T12:00:00Z", "2026-10-24T20:30:00.000Z"),
            ("Asia/Beirut", "23:30", "2026-10-24T20:30:00Z", "2026-10-25T21:30:00.000Z"),
            // A change of two hours; a day that does not exist; clocks that go back for a month.
            ("Antarctica/Troll", "02:30", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"),
            ("Pacific/Apia", "12:00", "2011-12-29T22:00:00Z", "2011-12-30T22:00:00.000Z"),
            ("Africa/Casablanca", "02:30", "2026-02-14T12:00:00Z", "2026-02-15T01:30:00.000Z"),
            ("Africa/Casablanca", "02:30", "2026-03-21T12:00:00Z", "2026-03-22T02:00:00.000Z"),
            ("Pacific/Kiritimati", "00:00", "2026-01-01T09:00:00Z", "2026-01-01T10:00:00.000Z"),
            ("Europe/Dublin", "01:30", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"),
            // The last hour of a day is skipped, so the slot of Saturday comes as Sunday begins.
            ("America/Nuuk", "23:30", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"),
        ]
    )
    func next(zone: String, local: String, after: String, run: String) throws {
        let schedule = LocalSchedule(at: try Self.time(local), in: try Zones.named(zone))
        #expect(try schedule.next(after: at(after))?.instant.description == run)
    }

    @Test("a slot keeps its intended date and time")
    func slot() throws {
        let schedule = LocalSchedule(at: try Self.time("23:30"), in: try Zones.named("America/Nuuk"))
        let slot = try #require(schedule.next(after: at("2026-03-28T12:00:00Z")))
        #expect(slot.date.description == "2026-03-28")
        #expect(slot.time.description == "23:30")
        #expect(schedule.zone.local(at: slot.instant).description == "2026-03-29 00:00 -01:00")
        #expect(schedule.next(after: slot.instant)?.date.description == "2026-03-29")
    }

    @Test("a schedule runs only on its days, by the user's own calendar")
    func days() throws {
        let schedule = LocalSchedule(
            at: try Self.time("08:00"),
            on: [.monday, .tuesday],
            in: try Zones.named("Pacific/Auckland")
        )
        var runs: [String] = []
        var instant = try at("2026-11-20T00:00:00Z")
        for _ in 0..<3 {
            instant = try #require(schedule.next(after: instant)?.instant)
            runs.append(instant.description)
        }
        #expect(runs == ["2026-11-22T19:00:00.000Z", "2026-11-23T19:00:00.000Z", "2026-11-29T19:00:00.000Z"])
    }

    @Test("a weekday that does not exist this week comes next week")
    func missingWeekday() throws {
        let schedule = LocalSchedule(at: try Self.time("08:00"), on: [.friday], in: try Zones.named("Pacific/Apia"))
        #expect(try schedule.next(after: at("2011-12-24T00:00:00Z"))?.date.description == "2012-01-06")
    }

    @Test("several times per day may be given in any order, and those skipped by one gap are one run")
    func several() throws {
        let times = try ["18:00", "02:10", "02:50", "18:00", "03:00"].map(Self.time)
        let schedule = try #require(LocalSchedule(at: times, in: Zones.named("Europe/Oslo")))
        var slots: [String] = []
        var instant = try at("2026-03-28T12:00:00Z")
        for _ in 0..<4 {
            let slot = try #require(schedule.next(after: instant))
            slots.append("\(slot.date) \(slot.time) \(slot.instant)")
            instant = slot.instant
        }
        #expect(
            slots == [
                "2026-03-28 18:00 2026-03-28T17:00:00.000Z", "2026-03-29 02:10 2026-03-29T01:00:00.000Z",
                "2026-03-29 18:00 2026-03-29T16:00:00.000Z", "2026-03-30 02:10 2026-03-30T00:10:00.000Z",
            ]
        )
        #expect(LocalSchedule(at: [LocalTime](), in: schedule.zone) == nil)
    }

    @Test("a date that has had its run gets no second one in another zone")
    func lastDate() throws {
        let date = try #require(LocalDate(validating: "2026-03-10"))
        let honolulu = LocalSchedule(at: try Self.time("09:00"), in: try Zones.named("Pacific/Honolulu"))
        let after = try at("2026-03-10T08:00:00Z")
        #expect(honolulu.next(after: after)?.date.description == "2026-03-10")
        #expect(honolulu.next(after: after, lastDate: date)?.date.description == "2026-03-11")
    }

    @Test("no run follows the last year")
    func end() throws {
        let schedule = LocalSchedule(at: try Self.time("12:00"), in: try Zones.named("Etc/UTC"))
        #expect(try schedule.next(after: at("9999-12-31T11:59:59Z")) != nil)
        #expect(try schedule.next(after: at("9999-12-31T12:00:00Z")) == nil)
    }
}
