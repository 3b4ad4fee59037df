import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

/// Workers and schedulers take no action while a clock is wrong.
@Suite(
    "A wrong clock",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct WrongClockTests {
    private static func watch(_ time: any TimeSource, _ pool: PostgresPool) -> ClockWatch {
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        return ClockWatch(pool: pool, time: time, logger: logger, metrics: MetricsRegistry())
    }

    private static func iso(in seconds: Int64) -> String {
        Timestamp(clamping: SystemTime().now().microseconds + seconds * 1_000_000).description
    }

    @Test("a worker whose clock is 24 hours ahead takes no message, and no event expires")
    func worker() async throws {
        try await ServerFixture.withTopology { servers in
            let clock = ManualTime(SystemTime().now() + .seconds(86_400))
            let clocks = Self.watch(clock, servers.pool)
            _ = await clocks.agree()
            var outfit = PipelineFixture.Outfit()
            outfit.time = clock
            outfit.clocks = clocks
            try await PipelineFixture.on(servers, outfit: outfit) { pipeline in
                let soon = Self.iso(in: 3_600)
                let event = #"{"id":"e1","to":{"user":"u1"},"title":"Hei","body":"","expiresAt":"\#(soon)"}"#
                try await pipeline.publish([pipeline.event(event, key: "drop.system")])
                let taken = try await servers.count("SELECT count(*) FROM inbox")
                #expect(taken == 0)
                clock.set(to: SystemTime().now())
                try await eventually("the clocks agree") { await clocks.agree() }
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
                let states = try await servers.column("SELECT state FROM deliveries")
                #expect(states == ["suppressed"])
            }
        }
    }

    @Test("a reminder is not planned by a scheduler whose clock is 40 days ahead")
    func reminder() async throws {
        try await ServerFixture.withTopology { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO reminders (app, user_id, id, local_time, timezone, title, body, source_time)
                VALUES ('drop', 'u1', 'r1', '09:00', 'UTC', 'Hei', '', now())
                """
            )
            let clock = ManualTime(SystemTime().now() + .seconds(40 * 86_400))
            let clocks = Self.watch(clock, servers.pool)
            let (catalogs, zones) = (CatalogSource(servers.catalogs), ZoneLibrary(environment: [:]))
            let make = { (context: SchedulerContext) -> any Service in
                ReminderDuty(context: context, catalogs: catalogs, zones: zones, interval: .milliseconds(10))
            }
            try await RunningDuty.with(make, on: servers, at: clock, clocks: clocks) {
                try await eventually("the clocks are compared") { clocks.verdict != .unknown }
                let planned = try await servers.count("SELECT count(*) FROM reminders WHERE next_fire_at IS NOT NULL")
                #expect(planned == 0)
                clock.set(to: SystemTime().now())
                let soon = "SELECT count(*) FROM reminders WHERE next_fire_at < now() + interval '2 days'"
                try await eventually("it is planned for the next morning") { try await servers.count(soon) == 1 }
            }
        }
    }

    @Test("the duties delete, publish, fire and end nothing while the database's clock is two years ahead")
    func database() async throws {
        try await ServerFixture.withTopology { servers in
            try await servers.fill()
            let wrong = try await servers.poolAhead()
            let clocks = Self.watch(SystemTime(), wrong)
            let before = try await servers.everything()
            let (catalogs, zones) = (CatalogSource(servers.catalogs), ZoneLibrary(environment: [:]))
            let rhythm = RetentionDuty.Rhythm(step: .milliseconds(1), rest: .milliseconds(10), pages: 64)
            let looks = StaleDeviceDuty.Rhythm(interval: .milliseconds(5), step: .milliseconds(1))
            let stale = try #require(StaleDevicePolicy("90d,hour=3"))
            let letters = try #require(DeadLetterRetention("30d,unexported"))
            let makers: [(SchedulerContext) -> any Service] = [
                { RetentionDuty(context: $0, retention: .usual, rhythm: rhythm) },
                { StaleDeviceDuty(context: $0, stale: stale, rhythm: looks, localHour: { _ in 3 }) },
                { DueEventDuty(context: $0, interval: .milliseconds(10)) },
                { ReminderDuty(context: $0, catalogs: catalogs, zones: zones, interval: .milliseconds(10)) },
                { DeadLetterRetentionDuty(context: $0, retention: letters, interval: .milliseconds(10)) },
            ]
            for make in makers {
                try await RunningDuty.with(make, on: servers, pool: wrong, clocks: clocks) {
                    try await eventually("the clocks are compared") { await !clocks.agree() }
                }
            }
            let after = try await servers.everything()
            #expect(after == before)
            await wrong.close()
        }
    }

    @Test("the statements change nothing either, if the clock steps between the comparison and the statement")
    func statements() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.fill()
            let wrong = try await servers.poolAhead()
            let before = try await servers.everything()
            let retention = RetentionStore(pool: wrong, retention: .usual)
            for kind in retention.kinds {
                let step = try await retention.look(for: kind, from: 0, pages: 64, with: .init(time: SystemTime()))
                #expect(step.doubt == .clocks)
            }
            let due = try await WorkerStore(pool: wrong).takeDueEvents(atMost: 10)
            #expect(due.isEmpty)
            let open = try await ReminderStore(pool: wrong).open(atMost: 10)
            #expect(open.isEmpty)
            var walk = StaleDeviceWalk(pool: wrong, search: .init(days: 90))
            while try await walk.step() {}
            #expect(walk.total == 0)
            let letters = DeadLetterRetentionStore(
                pool: wrong,
                retention: try #require(DeadLetterRetention("30d,unexported"))
            )
            let gone = try await letters.deleteBatch()
            #expect(gone == 0)
            try await letters.forgetReplays()
            let after = try await servers.everything()
            #expect(after == before)
            await wrong.close()
        }
    }

    @Test("if both clocks are two years ahead, retention counts first, deletes nothing and leaves its note unchanged")
    func bothAhead() async throws {
        try await ServerFixture.withTopology { servers in
            try await servers.fill()
            try await servers.noteRetention()
            let wrong = try await servers.poolAhead()
            let clock = ManualTime(SystemTime().now() + .seconds(2 * 365 * 86_400))
            let before = try await servers.everything()
            let metrics = MetricsRegistry()
            let rhythm = RetentionDuty.Rhythm(step: .milliseconds(1), rest: .milliseconds(10), pages: 64)
            let make = { (context: SchedulerContext) -> any Service in
                RetentionDuty(context: context, retention: .usual, rhythm: rhythm)
            }
            try await RunningDuty.with(make, on: servers, at: clock, metrics: metrics, pool: wrong) {
                try await eventually("each kind with more than a few rows is doubted") {
                    let text = metrics.text()
                    return ["notifications", "tombstones"].allSatisfy {
                        text.contains("bellhop_retention_doubted_total{kind=\"\($0)\"}")
                    }
                }
            }
            await wrong.close()
            let after = try await servers.everything()
            #expect(after == before)
        }
    }

    @Test("after a long absence, old rows are deleted if they are a small part of the table")
    func absence() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO tombstones (app, subject_hash, deleted_at, recorded_at)
                SELECT 'a' || n, '\\x00', age, age FROM generate_series(1, 1000) AS n, LATERAL (
                    SELECT now() - CASE WHEN n <= 150 THEN interval '95 days' ELSE interval '1 day' END AS age
                ) AS t
                """
            )
            _ = try await servers.owner.run(
                "INSERT INTO retired (kind, up_to) VALUES ('tombstones', now() - interval '100 days')"
            )
            let rhythm = RetentionDuty.Rhythm(step: .milliseconds(1), rest: .milliseconds(10), pages: 2)
            let make = { (context: SchedulerContext) -> any Service in
                RetentionDuty(context: context, retention: .usual, rhythm: rhythm)
            }
            try await RunningDuty.with(make, on: servers) {
                try await eventually("the old ones are gone") {
                    try await servers.count("SELECT count(*) FROM tombstones") == 850
                }
            }
        }
    }
}

extension ServerFixture {
    /// Returns a pool of sessions for which every clock function is two years ahead.
    fileprivate func poolAhead() async throws -> PostgresPool {
        try await owner.withConnection { [namespace] (connection) throws(PostgresError) in
            try connection.execute(
                """
                CREATE FUNCTION \(namespace).now() RETURNS timestamptz LANGUAGE sql STABLE
                AS 'SELECT pg_catalog.now() + interval ''730 days''';
                CREATE FUNCTION \(namespace).clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                AS 'SELECT pg_catalog.clock_timestamp() + interval ''730 days''';
                GRANT EXECUTE ON FUNCTION \(namespace).now(), \(namespace).clock_timestamp() TO PUBLIC;
                """
            )
        }
        return try Self.makePool(
            setUp: namespace.setUp(as: .worker) + ["SET search_path TO \(namespace), pg_catalog"],
            size: 3
        )
    }

    /// Inserts rows of each kind that would be deleted, fire or be published in two years, and not today.
    fileprivate func fill() async throws {
        try await owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute(
                """
                INSERT INTO people (app, user_id) SELECT 'drop', 'u' || n FROM generate_series(1, 101) AS n;
                INSERT INTO inbox (person, id, urgency, content_hash, event_id, type, title, body)
                SELECT number, number, 1, '\\x00', 'e' || number, 'system', 'Hei', '' FROM people;
                INSERT INTO ledger (person, id, target, state) SELECT number, number, 1, 'd' FROM people;
                INSERT INTO events (app, id, content, planned_at, urgency) VALUES
                    ('drop', 'later', '{"eventType":"system","to":{"topic":"t"}}', now() + interval '30 days', 1);
                INSERT INTO tombstones (app, subject_hash, deleted_at, recorded_at)
                SELECT 'a' || n, '\\x00', now(), now() FROM generate_series(1, 101) AS n;
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                last_seen_at, source_time)
                SELECT 'drop', 'u' || n, 'sub_0000000000000001', 'ios', 'apns', 't' || n, now(), now(), now()
                FROM generate_series(1, 20) AS n;
                INSERT INTO reminders (app, user_id, id, local_time, timezone, title, body, source_time, next_fire_at)
                VALUES ('drop', 'u1', 'r1', '09:00', 'UTC', 'Hei', '', now(), now() + interval '1 day');
                INSERT INTO replays (state, filter, operator, because, items, pause_share, finished_at)
                VALUES ('done', '{}', 'ada', 'test', 0, 50, now());
                """
            )
        }
        _ = try await DeadLetterStore(pool: pool).file([DeadLetterSamples.rejected("r1")])
        _ = try await owner.run("UPDATE dead_letters SET state = 'discarded', changed_at = now()")
    }

    /// Returns counts of all rows that a duty could delete, publish or end.
    fileprivate func everything() async throws -> [String?] {
        try await column(
            """
            SELECT 'inbox ' || count(*) FROM inbox UNION ALL SELECT 'ledger ' || count(*) FROM ledger
            UNION ALL SELECT 'events ' || count(*) FROM events WHERE handed_over_at IS NULL AND cancelled_at IS NULL
            UNION ALL SELECT 'tombstones ' || count(*) FROM tombstones
            UNION ALL SELECT 'devices ' || count(*) FROM push_subscriptions WHERE revoked_at IS NULL
            UNION ALL SELECT 'reminders ' || count(*) FROM reminders WHERE held_until IS NULL AND last_fired_on IS NULL
            UNION ALL SELECT 'letters ' || count(*) FROM dead_letters UNION ALL SELECT 'replays ' || count(*) FROM replays
            UNION ALL SELECT 'retired ahead ' || count(*) FROM retired WHERE up_to > now()
            """
        )
    }
}
