import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@Suite(
    "Reminders taken by schedulers",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct ReminderStoreTests {
    private static func set(_ servers: ServerFixture, _ ids: [String]) async throws {
        try await servers.feed(
            ids.map { id in
                let words = #""localTime":"09:00","title":"T","body":"B","sentAtIso":"2026-03-01T12:00:00Z""#
                return #"{"app":"drop","eventType":"reminder.set","userId":"u1","id":"\#(id)",\#(words)}"#
            }
        )
    }

    private static func move(_ servers: ServerFixture, to zone: String, second: Int) async throws {
        let words = #""timezone":"\#(zone)","sentAtIso":"2026-03-01T12:00:0\#(second)Z""#
        try await servers.feed([#"{"app":"drop","eventType":"recipient.upserted","userId":"u1",\#(words)}"#])
    }

    private static let unplanned = "SELECT count(*) FROM reminders WHERE next_fire_at IS NULL"

    @Test("a plan for the old time zone does not overwrite a time zone that changes meanwhile")
    func zoneRace() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ReminderStore(pool: servers.pool)
            let later = Timestamp(clamping: 2_000_000_000_000_000)
            try await Self.move(servers, to: "Europe/Oslo", second: 1)
            try await Self.set(servers, ["r"])
            // The reminder is new: only the holder distinguishes its versions.
            let new = try await book.open(atMost: 10)
            try await Self.move(servers, to: "Asia/Tokyo", second: 2)
            try await book.keep(new.map { ReminderPlan($0, next: later) })
            #expect(try await servers.count(Self.unplanned) == 1)
            let moved = try await book.open(atMost: 10)
            #expect(moved.map(\.timezone?.text) == ["Asia/Tokyo"])
            try await book.keep(moved.map { ReminderPlan($0, next: later) })
            #expect(try await servers.count(Self.unplanned) == 0)
            // The due reminder fires in the old time zone: the date is stored as used, and the plan is dropped.
            try await servers.pass("1 min", since: "next_fire_at", in: "reminders")
            let due = try await book.open(atMost: 10)
            try await Self.move(servers, to: "Europe/Oslo", second: 3)
            let date = try #require(LocalDate(validating: "2026-03-01"))
            try await book.keep(due.map { ReminderPlan($0, next: later, firedOn: date) })
            #expect(try await servers.count(Self.unplanned) == 1)
            #expect(try await servers.column("SELECT last_fired_on::text FROM reminders") == ["2026-03-01"])
        }
    }

    @Test("concurrent schedulers get different reminders, and released reminders are given out again")
    func hands() async throws {
        try await ServerFixture.withSchema { servers in
            let book = ReminderStore(pool: servers.pool)
            try await Self.set(servers, (0..<30).map { "r\($0)" })
            let given = try await withThrowingTaskGroup(of: [Reminder].self) { group in
                for _ in 0..<6 { group.addTask { Array(try await book.open(atMost: 10)) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(given.map(\.id)).count == given.count)
            let rest = try await book.open(atMost: 100)
            #expect(given.count + rest.count == 30)
            try await book.release(Array(given.prefix(3)))
            let again = try await book.open(atMost: 100)
            #expect(Set(again.map(\.id)) == Set(given.prefix(3).map(\.id)))
            try await servers.pass("1 s", since: "held_until", in: "reminders")
            let abandoned = try await book.open(atMost: 100)
            #expect(abandoned.count == 30)
        }
    }
}
