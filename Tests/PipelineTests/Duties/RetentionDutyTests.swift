import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Duties that delete old rows",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct RetentionDutyTests {
    private let rhythm = RetentionDuty.Rhythm(step: .milliseconds(1), rest: .milliseconds(20), pages: 2)
    private let oldTombstones = """
        INSERT INTO tombstones (app, subject_hash, deleted_at, recorded_at)
        SELECT 'a' || n, '\\x00', old, old
        FROM generate_series(1, 1000) AS n, LATERAL (SELECT now() - interval '91 days' AS old) AS t
        """

    @Test("the duty walks table after table, repeatedly, and counts deleted rows by kind")
    func walks() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.noteRetention()
            _ = try await servers.owner.run(Statement(oldTombstones))
            _ = try await servers.owner.run(
                "INSERT INTO events (app, id, cancelled_at) VALUES ('drop', 'e', now() - interval '91 days')"
            )
            var registry: MetricsRegistry?
            func make(_ context: SchedulerContext) -> any Service {
                registry = context.metrics
                return RetentionDuty(context: context, retention: .usual, rhythm: rhythm)
            }
            let left = "SELECT (SELECT count(*) FROM tombstones) + (SELECT count(*) FROM events)"
            try await RunningDuty.with(make, on: servers) {
                try await eventually("all of it is gone") { try await servers.count(left) == 0 }
                _ = try await servers.owner.run(Statement(oldTombstones))
                try await eventually("the next walk finds more") { try await servers.count(left) == 0 }
            }
            let text = try #require(registry).text()
            #expect(text.contains(#"bellhop_retired_total{kind="tombstones"} 2000"#))
            #expect(text.contains(#"bellhop_retired_total{kind="events"} 1"#))
        }
    }

    @Test("a walk that the database interrupts continues afterwards")
    func resumes() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.noteRetention()
            _ = try await servers.owner.run(Statement(oldTombstones))
            _ = try await servers.owner.run("INSERT INTO events (app, id, cancelled_at) VALUES ('a', 'e', 'epoch')")
            _ = try await servers.owner.run("REVOKE DELETE ON tombstones FROM bellhop_worker")
            try await RunningDuty.with({ RetentionDuty(context: $0, retention: .usual, rhythm: rhythm) }, on: servers) {
                try await eventually("the old events are gone") {
                    try await servers.count("SELECT count(*) FROM events") == 0
                }
                _ = try await servers.owner.run("GRANT DELETE ON tombstones TO bellhop_worker")
                try await eventually("the tombstones are gone") {
                    try await servers.count("SELECT count(*) FROM tombstones") == 0
                }
            }
        }
    }

    @Test("a table whose rows cannot be deleted is reported, and the tables after it are still walked")
    func refused() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.noteRetention()
            _ = try await servers.owner.run(Statement(oldTombstones))
            _ = try await servers.owner.run("INSERT INTO events (app, id, cancelled_at) VALUES ('a', 'e', 'epoch')")
            _ = try await servers.owner.run("REVOKE DELETE ON events FROM bellhop_worker")
            var registry: MetricsRegistry?
            func make(_ context: SchedulerContext) -> any Service {
                registry = context.metrics
                return RetentionDuty(context: context, retention: .usual, rhythm: rhythm)
            }
            try await RunningDuty.with(make, on: servers) {
                try await eventually("the tombstones are gone") {
                    try await servers.count("SELECT count(*) FROM tombstones") == 0
                }
                _ = try await servers.owner.run("GRANT DELETE ON events TO bellhop_worker")
                try await eventually("the events are gone, too") {
                    try await servers.count("SELECT count(*) FROM events") == 0
                }
            }
            let text = try #require(registry).text()
            #expect(text.contains(#"bellhop_retention_failures_total{kind="events"}"#))
            #expect(!text.contains(#"bellhop_retention_failures_total{kind="tombstones"}"#))
        }
    }

    @Test("two schedulers walk at the same time, and each row is counted once")
    func together() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.noteRetention()
            _ = try await servers.owner.run(Statement(oldTombstones))
            var registries: [MetricsRegistry] = []
            func make(_ context: SchedulerContext) -> any Service {
                registries.append(context.metrics)
                return RetentionDuty(context: context, retention: .usual, rhythm: rhythm)
            }
            try await RunningDuty.with(make, on: servers) {
                try await RunningDuty.with(make, on: servers) {
                    try await eventually("all of it is gone") {
                        try await servers.count("SELECT count(*) FROM tombstones") == 0
                    }
                }
            }
            let counts = registries.map { registry in
                let lines = registry.text().split(separator: "\n")
                let line = lines.first { $0.hasPrefix(#"bellhop_retired_total{kind="tombstones"}"#) }
                return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
            }
            #expect(counts.reduce(0, +) == 1000)
        }
    }

    @Test("silent devices end in the configured hour of the night, once per night, and the next night again")
    func nightly() async throws {
        try await ServerFixture.withSchema { servers in
            try await silentDevice("t1", on: servers)
            let ended = "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'stale'"
            let clock = ManualTime(Instant(seconds: 1_800_000_000))
            // The hour of the duty's machine is that of the clock's day.
            let hour: @Sendable (Instant) -> Int = { Int($0.microseconds / 3_600_000_000 % 24) }
            let setting = "90d,hour=\((hour(clock.now()) + 1) % 24)"
            let stale = try #require(StaleDevicePolicy(setting))
            let looks = StaleDeviceDuty.Rhythm(interval: .milliseconds(5), step: .milliseconds(1))
            let make = { StaleDeviceDuty(context: $0, stale: stale, rhythm: looks, localHour: hour) }
            try await RunningDuty.with(make, on: servers, at: clock) {
                let early = try await servers.count(ended)
                #expect(early == 0)
                clock.advance(by: .seconds(3600))
                try await eventually("the device has ended") { try await servers.count(ended) == 1 }
                // The walk may not have ended yet. It goes by users' names, and has passed this one.
                try await silentDevice("a2", on: servers)
                clock.advance(by: .seconds(23 * 3600))
                let between = try await servers.count(ended)
                #expect(between == 1)
                clock.advance(by: .seconds(3600))
                try await eventually("the other has ended the night after") { try await servers.count(ended) == 2 }
            }
        }
    }

    @Test(
        "no silent device ends if most devices of a provider are silent, as then the activity reports may be missing"
    )
    func manySilent() async throws {
        try await ServerFixture.withSchema { servers in
            for number in 1...60 { try await silentDevice("t\(number)", on: servers) }
            var search = StaleDeviceWalk.Search(days: 90)
            search.isRehearsal = true
            var walk = StaleDeviceWalk(pool: servers.pool, search: search)
            while try await walk.step() {}
            let group = try #require(walk.found.keys.first)
            #expect(walk.found[group] == 60)
            #expect(walk.living[group] == 60)
            let clock = ManualTime(Instant(seconds: 1_800_000_000))
            let stale = try #require(StaleDevicePolicy("90d,hour=3"))
            let looks = StaleDeviceDuty.Rhythm(interval: .milliseconds(5), step: .milliseconds(1))
            var registries: [MetricsRegistry] = []
            func make(_ context: SchedulerContext) -> any Service {
                registries.append(context.metrics)
                return StaleDeviceDuty(context: context, stale: stale, rhythm: looks, localHour: { _ in 3 })
            }
            let ended = "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            try await RunningDuty.with(make, on: servers, at: clock) {
                let registry = try #require(registries.first)
                try await eventually("the night is doubted") {
                    registry.text().contains("bellhop_stale_devices_doubted_total 1")
                }
                let doubted = try await servers.count(ended)
                #expect(doubted == 0)
                // Another night, in which enough other devices have been active.
                _ = try await servers.owner.run(
                    """
                    INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                    last_seen_at, source_time)
                    SELECT 'drop', 'new' || n, 'sub_0000000000000001', 'ios', 'apns', 'new' || n, now(), now(), now()
                    FROM generate_series(1, 400) AS n
                    """
                )
                clock.advance(by: .seconds(24 * 3600))
                try await eventually("they have ended") { try await servers.count(ended) == 60 }
            }
        }
    }

    private func silentDevice(_ token: String, on servers: ServerFixture) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                            last_seen_at, source_time)
            SELECT 'drop', $1, 'sub_0000000000000001', 'ios', 'apns', $1, seen, seen, seen
            FROM (SELECT now() - interval '91 days' AS seen) AS s
            """,
            [.text(token)]
        )
    }
}

extension ServerFixture {
    /// Notes a recent complete walk of each table, so that retention does not count first.
    func noteRetention() async throws {
        for kind in RetentionKind.allCases {
            guard let age = kind.age(in: .usual) else { continue }
            _ = try await owner.run(
                "INSERT INTO retired (kind, up_to) VALUES ($1, now() - $2::bigint * interval '1 us')",
                [.text(kind.rawValue), .integer(age.microseconds)]
            )
        }
    }
}
