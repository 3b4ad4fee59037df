import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Backlogs in the ledger",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct WaitingDeliveryTests {
    private static let lease = Duration.seconds(60)

    /// Puts deliveries of one user each into a backlog.
    ///
    /// Their turns are the given numbers of seconds ago.
    private static func fill(_ servers: ServerFixture, _ turns: [(user: String, ago: Int, urgency: Int)]) async throws {
        for (number, turn) in turns.enumerated() {
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries
                    (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at, urgency, attempts)
                VALUES ('drop', $1, 'noti_' || lpad(to_hex($2::bigint), 16, '0'), 'push', 'sub_0000000000000001', 'deferred',
                        'window-full', 'drop/fcm', now() - $3::bigint * interval '1 s', $4::bigint, 2)
                """,
                [
                    .text(turn.user), .integer(Int64(number)), .integer(Int64(turn.ago)),
                    .integer(Int64(turn.urgency)),
                ]
            )
        }
    }

    private static func place(_ priority: Priority = .normal) throws -> BacklogPlace {
        BacklogPlace(try #require(BacklogKey("drop/fcm")), priority)
    }

    private static func pull(
        _ servers: ServerFixture,
        _ count: Int,
        _ priority: Priority = .normal
    ) async throws -> [ClaimedDelivery] {
        let look = BacklogPoll(try place(priority), since: nil)
        let book = WorkerStore(pool: servers.pool, lease: lease)
        return try lines(try await book.pull(look, atMost: count, as: .fresh))
    }

    private static func scout(_ servers: ServerFixture) async throws -> [ClaimedDelivery] {
        let look = BacklogPoll(try place(), since: nil)
        return try lines(try await WorkerStore(pool: servers.pool, lease: lease).scout(look, as: .fresh))
    }

    private static func lines(_ pulled: PullResult) throws -> [ClaimedDelivery] {
        guard case .lines(let lines) = pulled else { throw ServerFixtureError("another pulls") }
        return lines
    }

    private static func users(_ lines: [ClaimedDelivery]) -> [String] {
        lines.map(\.key.notification.recipient.user.text)
    }

    @Test("the sweeper, the search for forgotten claims and a late device ignore deliveries in a backlog")
    func leftAlone() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, [("u1", 86_400, 1)])
            let due = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .zero).take(.normal, atMost: 10)
            let step = try await ForgottenClaimStore(pool: servers.pool, olderThan: .zero).look(from: 0, pages: 10)
            try await servers.feed([
                """
                {"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"t","platform":"android",\
                "provider":"fcm"}
                """
            ])
            #expect(due.isEmpty)
            #expect(step.found == 0)
            let lines = try await servers.column("SELECT concat_ws('|', state, outlet, target) FROM deliveries")
            #expect(lines == ["deferred|drop/fcm|sub_0000000000000001"])
        }
    }

    @Test("the deliveries of a pull are not looked for while the pull may be in progress")
    func regaining() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, [("u1", 30, 1), ("u2", 20, 1), ("u3", 10, 1)])
            let book = WorkerStore(pool: servers.pool, lease: Self.lease)
            let look = BacklogPoll(try Self.place(), since: nil)
            let claim = Claim.fresh
            _ = try await book.pull(look, atMost: 2, as: claim)
            let busy = try await RowLock.hold(
                on: servers,
                "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' backlog drop/fcm', 0))"
            ) {
                try await book.regain(look.place.key, as: claim)
            }
            guard case .isBusy = busy else { throw ServerFixtureError("it does not wait for the pull") }
        }
    }

    @Test("a probe gets a delivery of a reached device, otherwise any of the first and the last")
    func scout() async throws {
        try await ServerFixture.withSchema { servers in
            let strangers = (0..<60).map { (user: "stranger", ago: 100 - $0, urgency: 1) }
            try await Self.fill(servers, strangers + [("known", 20, 1)])
            _ = try await servers.owner.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                    last_seen_at, source_time, reached_at)
                SELECT 'drop', u, 'sub_0000000000000001', 'ios', 'fcm', 't-' || u, now(), now(), now(),
                       CASE u WHEN 'known' THEN now() END
                FROM unnest(ARRAY['stranger', 'known']) AS u
                """
            )
            let first = try await Self.scout(servers)
            #expect(Self.users(first) == ["known"])
            var ages: Set<Int64> = []
            for _ in 0..<24 {
                let scout = try await Self.scout(servers)
                #expect(Self.users(scout) == ["stranger"])
                let turns = scout.compactMap(\.queuedAt)
                ages.formUnion(turns.map { (DeadLetterSamples.now.microseconds - $0.microseconds) / 1_000_000 })
            }
            // Of sixty deliveries only those at the ends are taken, and from both ends.
            let (oldest, newest) = (ages.max() ?? 0, ages.min() ?? 0)
            #expect(oldest - newest > 30)
        }
    }

    @Test("a second pull from a backlog is reported as busy and takes nothing while the first runs")
    func oneAtATime() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, [("u1", 30, 1)])
            let lock = """
                SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' backlog ' || 'drop/fcm', 0)) IS NULL
                """
            try await RowLock.hold(on: servers, lock) {
                let look = BacklogPoll(try Self.place(), since: nil)
                let book = WorkerStore(pool: servers.pool, lease: Self.lease)
                let outcome = try await book.pull(look, atMost: 1, as: .fresh)
                guard case .isBusy = outcome else { throw ServerFixtureError("it was pulled twice at once") }
            }
            let afterwards = try await Self.pull(servers, 1)
            #expect(afterwards.count == 1)
        }
    }

    @Test("the backlog of an unused outlet is named, and its deliveries are decided again after a long wait")
    func unserved() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, [("u1", 3_600, 1), ("u2", 60, 1)])
            try await Self.fill(servers, [("u3", 3_600, 1)])
            // One was recorded long ago and has been put there just now.
            _ = try await servers.owner.run(
                """
                UPDATE deliveries SET outlet = 'drop/gone', updated_at = CASE user_id WHEN 'u1' THEN queued_at ELSE now() END
                WHERE user_id <> 'u2'
                """
            )
            let book = WorkerStore(pool: servers.pool, lease: Self.lease)
            let names = try await book.backlogNames()
            #expect(names == ["drop/fcm", "drop/gone"])
            let young = try await book.release("drop/fcm", atMost: 10, after: .seconds(600))
            let old = try await book.release("drop/gone", atMost: 10, after: .seconds(600))
            #expect([young, old] == [0, 1])
            let due = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(60)).take(
                .normal,
                atMost: 9
            )
            #expect(due.map(\.recipient.user.text) == ["u1"])
        }
    }

    @Test("a backlog's name is parsed as written, and a name that no program of Bellhop writes is rejected")
    func names() throws {
        for name in ["drop/fcm", "drop/fcm/ios", "drop/email"] {
            #expect(BacklogKey(name)?.text == name)
        }
        #expect(BacklogKey("drop") == nil)
        #expect(BacklogKey("drop/fcm/toaster") == nil)
        #expect(BacklogKey("Drop/fcm") == nil)
    }
}
