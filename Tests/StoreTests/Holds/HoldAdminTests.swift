import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Operator actions on holds",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct HoldAdminTests {
    private static let ada = ActingOperator(name: "ada", because: "the wrong campaign")

    private static func scope(_ type: String? = nil) throws -> HoldScope {
        let app = try #require(AppID(validating: "drop"))
        return HoldScope(app: app, type: type.flatMap(EventType.init(validating:)))
    }

    private static func place(_ admin: HoldAdmin, _ scope: HoldScope) async throws -> OperatorHold {
        let placing = try await admin.place(scope, by: ada)
        guard case .placed(let hold) = placing else { throw ServerFixtureError("not placed: \(placing)") }
        return hold
    }

    /// Puts a delivery of one user and one type into a backlog.
    private static func fill(_ servers: ServerFixture, _ user: String, _ type: String, in backlog: String) async throws
    {
        _ = try await servers.owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
            VALUES ('drop', $1, $2 || '-' || $1, $2 || '-1', '', $2, 't', 'b', 'normal')
            """,
            [.text(user), .text(type)]
        )
        _ = try await servers.owner.run(
            """
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
            VALUES ('drop', $1, $2 || '-' || $1, 'push', 'sub_0000000000000001', 'deferred', 'held', $3, now())
            """,
            [.text(user), .text(type), .text(backlog)]
        )
    }

    @Test("a scope is held only once, and the number of holds is limited")
    func placing() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = HoldAdmin(pool: servers.owner)
            let first = try await admin.place(try Self.scope("system"), by: Self.ada)
            guard case .placed(let hold) = first else { throw ServerFixtureError("not placed: \(first)") }
            let again = try await admin.place(
                try Self.scope("system"),
                by: ActingOperator(name: "bo", because: "me too")
            )
            #expect(again == .isHeld(hold))
            _ = try await servers.owner.run(
                """
                INSERT INTO holds (app, type, operator, because)
                SELECT 'drop', 't' || n, 'ada', 'a test' FROM generate_series(2, 200) AS n
                """
            )
            let beyond = try await admin.place(try Self.scope(), by: Self.ada)
            #expect(beyond == .tooMany)
            let released = try await admin.release(hold.number, by: Self.ada)
            let gone = try await admin.release(hold.number, by: Self.ada)
            #expect(released == hold)
            #expect(gone == nil)
            let audited = try await servers.count("SELECT count(*) FROM audit WHERE act LIKE 'hold-%'")
            #expect(audited == 2)
        }
    }

    @Test("a hold covers only the app, type and provider that it names")
    func covering() throws {
        let app = try #require(AppID(validating: "drop"))
        let other = try #require(AppID(validating: "safe"))
        let (promo, news) = (EventType(validating: "promo"), EventType(validating: "news"))
        let narrow = HoldScope(app: app, type: promo, provider: "fcm")
        #expect(narrow.covers(app, provider: "fcm", type: promo))
        #expect(!narrow.covers(app, provider: "fcm", type: news))
        #expect(!narrow.covers(app, provider: "fcm", type: nil))
        #expect(!narrow.covers(app, provider: "expo", type: promo))
        let wide = HoldScope(app: app)
        #expect(wide.covers(app, provider: "email", type: news))
        #expect(!wide.covers(other, provider: "email", type: news))
        let part = try #require(promo.map { OutletScope(app: app, provider: "fcm", type: $0) })
        #expect(part.text == "drop/fcm//promo")
        #expect(OutletScope(part.text) == part)
        #expect(OutletScope("drop/fcm/ios/promo") == nil)
        #expect(OutletScope("drop/fcm//") == nil)
    }

    @Test("a discard after a release changes no delivery and writes no audit record")
    func released() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = HoldAdmin(pool: servers.owner)
            let hold = try await Self.place(admin, try Self.scope("system"))
            try await Self.fill(servers, "u1", "system", in: "drop/fcm")
            let selection = HoldSelection(hold.scope, of: hold.number)
            _ = try await admin.release(hold.number, by: Self.ada)
            // A new hold with the same scope is a different hold: no operator has agreed to discard its deliveries.
            _ = try await Self.place(admin, hold.scope)
            let outcome = try await admin.discard(selection, agreed: 1, by: Self.ada, pausing: .zero)
            #expect(outcome == DiscardResult(done: 0, left: 0, isHeld: false))
            let waiting = try await servers.count("SELECT count(*) FROM deliveries WHERE state = 'deferred'")
            let acts = try await servers.count("SELECT count(*) FROM audit WHERE act LIKE 'hold-discard%'")
            #expect(waiting == 1)
            #expect(acts == 0)
        }
    }

    @Test(
        "a discard of an event also ends its deferred and retrying deliveries in the scope of the hold, and no others"
    )
    func deferred() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = HoldAdmin(pool: servers.owner)
            let hold = try await Self.place(admin, try Self.scope("system"))
            for (user, type) in [("u1", "system"), ("u2", "system"), ("u3", "system"), ("u4", "security")] {
                try await Self.fill(servers, user, type, in: "drop/fcm")
            }
            let night = "outlet = NULL, queued_at = NULL, due_at = now() + interval '8 h'"
            for change in [
                "reason = 'quiet-hours'", "state = 'retrying'", "state = 'sending'", "reason = 'quiet-hours'",
            ]
            .enumerated() {
                _ = try await servers.owner.run(
                    Statement("UPDATE deliveries SET \(night), \(change.element) WHERE user_id = $1"),
                    [.text("u\(change.offset + 1)")]
                )
            }
            let event = try #require(EventID(validating: "system-1"))
            let whole = HoldSelection(hold.scope, of: hold.number)
            let selection = HoldSelection(hold.scope, of: hold.number, event: event)
            let counts = try await [admin.countDeferred(whole), admin.countDeferred(selection)]
            #expect(counts == [0, 2])
            let expo = HoldSelection(HoldScope(app: hold.scope.app, provider: "expo"), of: hold.number, event: event)
            let others = try await admin.countDeferred(expo)
            #expect(others == 0)
            let outcome = try await admin.discard(selection, agreed: 10, by: Self.ada, pausing: .zero)
            #expect(outcome == DiscardResult(done: 2, left: 0, isHeld: true))
            let states = try await servers.column(
                "SELECT state || ' ' || coalesce(reason, '') || ' ' || (due_at IS NULL)::text FROM deliveries ORDER BY user_id"
            )
            #expect(
                states == [
                    "suppressed discarded true", "suppressed discarded true", "sending held false",
                    "deferred quiet-hours false",
                ]
            )
        }
    }

    @Test("the event of a discard is noted with the beginning of the discard, before the first delivery ends")
    func noting() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = HoldAdmin(pool: servers.owner)
            let worker = WorkerStore(pool: servers.pool)
            let scope = HoldScope(app: try Self.scope().app, type: EventType(validating: "system"), provider: "fcm")
            let hold = try await Self.place(admin, scope)
            for user in ["u1", "u2"] { try await Self.fill(servers, user, "system", in: "drop/fcm") }
            let event = try #require(EventID(validating: "system-1"))
            let selection = HoldSelection(scope, of: hold.number, event: event)
            // A database that fails while the discard looks for deliveries interrupts it.
            _ = try await servers.owner.run("ALTER TABLE ledger RENAME TO away")
            await #expect(throws: PostgresError.self) {
                try await admin.discard(selection, agreed: 2, by: Self.ada, pausing: .zero)
            }
            _ = try await servers.owner.run("ALTER TABLE away RENAME TO ledger")
            let interrupted = try await worker.discardedEvents()
            #expect(interrupted.map(\.event) == [event])
            _ = try await servers.owner.run(
                """
                INSERT INTO discarded_events (app, event_id, discarded_at)
                VALUES ('drop', 'old', now() - interval '31 days'), ('drop', 'young', now() - interval '29 days')
                """
            )
            let done = try await admin.discard(selection, agreed: 2, by: Self.ada, pausing: .zero)
            #expect(done == DiscardResult(done: 2, left: 0, isHeld: true))
            let noted = try await worker.discardedEvents()
            #expect(noted.map(\.event.text) == ["young", "system-1"])
            #expect(noted.map(\.scope) == [HoldScope(app: scope.app), scope])
            let begun = try await servers.count(
                """
                SELECT count(*) FROM discarded_events d JOIN audit a ON a.at = d.discarded_at
                WHERE d.event_id = 'system-1' AND a.act = 'hold-discard'
                """
            )
            #expect(begun == 1)
            // A discard behind a hold that was released notes nothing, and one without an event names none.
            let gone = HoldSelection(scope, of: hold.number + 1, event: EventID(validating: "other"))
            let released = try await admin.discard(gone, agreed: 1, by: Self.ada, pausing: .zero)
            #expect(!released.isHeld)
            try await Self.fill(servers, "u3", "system", in: "drop/fcm")
            let whole = HoldSelection(scope, of: hold.number)
            let all = try await admin.discard(whole, agreed: 1, by: Self.ada, pausing: .zero)
            let after = try await worker.discardedEvents()
            #expect(all.done == 1 && after.count == 2)
        }
    }

    @Test("a discard finds deliveries that a worker returns meanwhile, and reports deliveries that it did not reach")
    func moving() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = HoldAdmin(pool: servers.owner)
            let hold = try await Self.place(admin, try Self.scope("system"))
            try await Self.fill(servers, "u1", "system", in: "drop/fcm")
            try await Self.fill(servers, "u2", "system", in: "drop/fcm")
            // A worker has claimed it and is about to move it to the backlog of its type.
            _ = try await servers.owner.run(
                """
                UPDATE deliveries SET state = 'sending', outlet = NULL, queued_at = NULL, due_at = now()
                WHERE user_id = 'u2'
                """
            )
            async let discarding = admin.discard(
                HoldSelection(hold.scope, of: hold.number),
                agreed: 2,
                by: Self.ada,
                pausing: .seconds(5)
            )
            try await eventually("the first is discarded") {
                try await servers.count("SELECT count(*) FROM deliveries WHERE reason = 'discarded'") == 1
            }
            _ = try await servers.owner.run(
                """
                UPDATE deliveries SET state = 'deferred', outlet = 'drop/fcm//system', queued_at = now(), due_at = NULL
                WHERE user_id = 'u2'
                """
            )
            try await Self.fill(servers, "u3", "system", in: "drop/fcm//system")
            let outcome = try await discarding
            #expect(outcome.done == 2)
            #expect(outcome.left == 1)
            #expect(outcome.isHeld)
        }
    }
}
