import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Stored events",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct StoredEventTests {
    /// Stores an event for a user and makes it due.
    private static func keep(_ id: String, data: String = "{}", in servers: ServerFixture) async throws -> Event {
        let later = Timestamp(clamping: DeadLetterSamples.now.microseconds + 3_600_000_000)
        let json = """
            {"id":"\(id)","app":"drop","eventType":"system","to":{"user":"u1"},"title":"Hei","body":"","data":\(data),\
            "deliverAt":"\(later)"}
            """
        guard case .event(let event) = try servers.submission(json) else { throw ServerFixtureError("no event") }
        let plan = PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
        let outcomes = try await WorkerStore(pool: servers.pool).keep([plan])
        #expect(outcomes == [.kept])
        _ = try await servers.owner.run(
            "UPDATE events SET planned_at = now() WHERE app = 'drop' AND id = $1",
            [.text(id)]
        )
        return event
    }

    @Test("a due event's published body is at most as large as the original, whatever its number formats")
    func body() async throws {
        try await ServerFixture.withSchema { servers in
            let numbers = Array(repeating: "1e300", count: 2000).joined(separator: ",")
            let event = try await Self.keep("numbers", data: #"{"a":[\#(numbers)]}"#, in: servers)
            let due = try await WorkerStore(pool: servers.pool).takeDueEvents(atMost: 10)
            let body = try #require(due.first?.body)
            #expect(body == event.plainForm(withoutDeliverAt: true))
            #expect(body.count < event.plainForm().count)
            let read = try servers.submission(String(decoding: body, as: UTF8.self))
            guard case .event(let again) = read else { throw ServerFixtureError("it cannot be read again") }
            #expect(again.content.data == event.content.data)
            #expect(again.deliverAt == nil)
        }
    }

    @Test("an event that an older program stored is published as well")
    func withoutBody() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await Self.keep("old", in: servers)
            _ = try await servers.owner.run("UPDATE events SET body = NULL")
            let due = try await WorkerStore(pool: servers.pool).takeDueEvents(atMost: 10)
            let read = try servers.submission(String(decoding: try #require(due.first?.body), as: UTF8.self))
            guard case .event(let event) = read else { throw ServerFixtureError("it cannot be read again") }
            #expect(event.id.text == "old")
        }
    }

    @Test("a returned event is due immediately, and a taken event without a report after 30 seconds")
    func givingBack() async throws {
        try await ServerFixture.withSchema { servers in
            let plans = WorkerStore(pool: servers.pool)
            _ = try await Self.keep("one", in: servers)
            let first = try await plans.takeDueEvents(atMost: 10)
            let meanwhile = try await plans.takeDueEvents(atMost: 10)
            try await plans.giveBack(first)
            let second = try await plans.takeDueEvents(atMost: 10)
            #expect([first.count, meanwhile.count, second.count] == [1, 0, 1])
            try await servers.pass("31 s", since: "handed_over_at", in: "events")
            let third = try await plans.takeDueEvents(atMost: 10)
            #expect(third.count == 1)
            try await plans.markExpanded(third)
            try await plans.giveBack(third)
            let last = try await plans.takeDueEvents(atMost: 10)
            #expect(last.isEmpty)
        }
    }

    /// Stores an event for a topic as a program does.
    ///
    /// It has been due for `ago` seconds, or it is due immediately if `ago` is `nil`.
    private static func keepWide(_ id: String, _ more: String = "", ago: Int?, in servers: ServerFixture) async throws {
        let body = #"{"id":"\#(id)","app":"drop","eventType":"system","to":{"topic":"venue:1"},"title":"T"\#(more)}"#
        guard case .event(let event) = try servers.submission(body) else {
            throw ServerFixtureError("no event: \(body)")
        }
        let plan = PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
        _ = try await WorkerStore(pool: servers.pool).keep([plan])
        guard let ago else { return }
        _ = try await servers.owner.run(
            "UPDATE events SET planned_at = now() - $2::bigint * interval '1 s' WHERE id = $1",
            [.text(id), .integer(Int64(ago))]
        )
    }

    @Test("old and expired events that are not expanded are closed, other due ones published, and new ones skipped")
    func unexpanded() async throws {
        try await ServerFixture.withSchema { servers in
            let plans = WorkerStore(pool: servers.pool)
            try await Self.keepWide("new", ago: nil, in: servers)
            try await Self.keepWide("left", ago: 600, in: servers)
            try await Self.keepWide("old", ago: 90_000, in: servers)
            try await Self.keepWide("expired", #","expiresAt":"2026-01-01T00:00:00Z""#, ago: 60, in: servers)
            try await Self.keepWide("due", #","deliverAt":"2026-01-01T00:00:00Z""#, ago: 1, in: servers)
            let taken = try await plans.takeDueEvents(atMost: 10)
            let fates = taken.map { "\($0.id) \($0.closing?.rawValue ?? "-")" }.sorted()
            #expect(fates == ["due -", "expired expired", "left -", "old too-old"])
            let closed = "SELECT id || ' ' || closed_reason FROM events WHERE cancelled_at IS NOT NULL ORDER BY id"
            #expect(try await servers.column(closed) == ["expired expired", "old too-old"])
            let again = try await plans.takeDueEvents(atMost: 10)
            #expect(again.isEmpty)
        }
    }

    @Test("the published body of a due event is a duplicate of the stored event, and other content is a conflict")
    func published() async throws {
        try await ServerFixture.withSchema { servers in
            let plans = WorkerStore(pool: servers.pool)
            try await Self.keepWide("due", #","deliverAt":"2026-01-01T00:00:00Z""#, ago: 1, in: servers)
            let taken = try await plans.takeDueEvents(atMost: 10)
            let body = String(decoding: try #require(taken.first?.body), as: UTF8.self)
            let other = body.replacing(#":"T""#, with: #":"U""#)
            for (text, expected) in [(body, PlanOutcome.duplicate), (other, .conflict)] {
                guard case .event(let event) = try servers.submission(text) else {
                    throw ServerFixtureError("no event")
                }
                let hash = ContentHash(of: event)
                let plan = PlannedEvent(event: event, contentHash: hash, priority: .low, expiresAt: nil)
                let outcomes = try await plans.keep([plan])
                #expect(outcomes == [expected])
            }
        }
    }

    @Test("the query for due events reads neither expanded events nor events far ahead")
    func onlyDue() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            _ = try await servers.owner.run(
                """
                INSERT INTO events (app, id, content_hash, content, planned_at, urgency, expanded_at)
                SELECT 'drop', 'e' || n, '', CASE n % 2 WHEN 0 THEN '{"to": {"topic": "venue:1"}}'::jsonb
                       ELSE '{"to": {"users": ["u1"]}}' END, now() + (n % 2) * interval '1 h', n % 3,
                       CASE n % 2 WHEN 0 THEN now() END
                FROM generate_series(1, $1) AS n
                """,
                [.integer(Int64(OtherUsers.size))]
            )
            _ = try await Self.keep("due", in: servers)
            let pool = try StatementCoverage.pool(on: servers)
            let before = try await OtherUsers.rowsRead(servers, by: pool)["events"] ?? 0
            let due = try await WorkerStore(pool: pool).takeDueEvents(atMost: 10)
            let after = try await OtherUsers.rowsRead(servers, by: pool)["events"] ?? 0
            await pool.close()
            #expect(due.map(\.id.text) == ["due"])
            #expect(after - before < 50)
        }
    }

    @Test("urgent events come first, then the oldest, up to the limit")
    func order() async throws {
        try await ServerFixture.withSchema { servers in
            for id in ["a", "b", "c"] { _ = try await Self.keep(id, in: servers) }
            _ = try await servers.owner.run("UPDATE events SET urgency = 0 WHERE id = 'c'")
            try await servers.pass("1 min", since: "planned_at", in: "events", where: "id = 'b'")
            let due = try await WorkerStore(pool: servers.pool).takeDueEvents(atMost: 2)
            #expect(Set(due.map(\.id.text)) == ["b", "c"])
        }
    }
}
