import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "The watch of providers",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ProviderWatchDutyTests {
    private static func heartbeat(_ id: String, role: String) -> Heartbeat {
        let identity = Heartbeat.Identity(id: id, role: role, version: "0.1.0", host: "h", process: 7)
        return Heartbeat(identity, catalogs: "same")
    }

    private static func failing() -> Heartbeat {
        var report = heartbeat("w1", role: "worker")
        report.troubles = [
            ProviderOutage(
                app: "drop",
                provider: "fcm",
                word: "UNAVAILABLE",
                since: DeadLetterSamples.ago(60),
                latest: DeadLetterSamples.ago(1),
                answers: 120
            )
        ]
        return report
    }

    /// The report of a worker that has seen no outage and whose push was accepted, a minute from now unless stated.
    private static func working(
        _ id: String,
        _ providers: [String] = ["fcm"],
        at: Timestamp = DeadLetterSamples.ago(-60)
    ) -> Heartbeat {
        var report = heartbeat(id, role: "worker")
        report.takings = providers.map { ProviderSuccess(app: "drop", provider: $0, at: at) }
        return report
    }

    private static func recovered() -> Heartbeat {
        var report = heartbeat("w1", role: "worker")
        let now = DeadLetterSamples.ago(0)
        report.takings = [ProviderSuccess(app: "drop", provider: "fcm", at: now, recoveredAt: now)]
        return report
    }

    /// Runs the watch of the scheduler `s1` with a log during a body.
    private static func with(
        _ servers: ServerFixture,
        _ body: (HeartbeatStore, MetricsRegistry, CapturedLog) async throws -> Void
    ) async throws {
        let (registry, log) = (MetricsRegistry(), CapturedLog())
        let source = CatalogSource(servers.catalogs)
        try await RunningDuty.with(
            {
                ProviderWatchDuty(context: $0, process: "s1", catalogs: source, interval: .milliseconds(50))
            },
            on: servers,
            metrics: registry,
            log: log
        ) {
            try await body(HeartbeatStore(pool: servers.pool), registry, log)
        }
    }

    private static let gauge = #"bellhop_provider_failing{app="drop",provider="fcm"}"#

    @Test("an outage is logged once, measured until its end, and then the provider's retries are brought forward")
    func outage() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 900)
            try await servers.addRetry("b", through: "expo", dueIn: 900)
            try await Self.with(servers) { book, registry, log in
                try await book.announce(Self.failing())
                try await eventually("it is measured") { registry.text().contains("\(Self.gauge) 1") }
                try await book.announce(Self.failing())
                try await book.announce(Self.recovered())
                try await eventually("it is over") { registry.text().contains("\(Self.gauge) 0") }
                try await eventually("the retry is due soon") {
                    try await servers.retryStates() == ["a deferred soon 1", "b retrying later 1"]
                }
                try await eventually("it is told") { log.messages.last == "retries were brought forward" }
                let told = log.records.map { "\($0.level) \($0.message)" }
                #expect(
                    told == [
                        "warning provider accepts nothing, its deliveries are retried",
                        "notice provider accepts deliveries again, bringing its retries forward",
                        "info retries were brought forward",
                    ]
                )
                #expect(log.records.first?.fields["answer"] == .text("UNAVAILABLE"))
                let end = log.records.dropFirst().first?.fields
                #expect(end?["waiting"] == .integer(1) && end?["last"] != nil, "\(told)")
            }
        }
    }

    @Test("retries are brought forward although all workers were restarted between the outage and its end")
    func restartedWorkers() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 900)
            try await Self.with(servers) { book, registry, log in
                try await book.announce(Self.failing())
                try await eventually("it is measured") { registry.text().contains("\(Self.gauge) 1") }
                try await book.leave("w1")
                try await eventually("nothing is known of it") { registry.text().contains("\(Self.gauge) 0") }
                let waiting = try await servers.retryStates()
                #expect(waiting == ["a retrying later 1"], "the end of a worker is not the end of an outage")
                try await book.announce(Self.working("w2"))
                try await eventually("the retry is due soon") {
                    try await servers.retryStates() == ["a deferred soon 1"]
                }
                #expect(log.messages.contains("provider accepts deliveries again, bringing its retries forward"))
            }
        }
    }

    @Test("an outage that a scheduler saw begin lasts from then on although all workers were restarted")
    func beginning() async throws {
        try await ServerFixture.withSchema { servers in
            let book = HeartbeatStore(pool: servers.pool)
            let source = CatalogSource(servers.catalogs)
            var watch: ProviderWatchDuty?
            try await RunningDuty.with(
                {
                    let duty = ProviderWatchDuty(
                        context: $0,
                        process: "s1",
                        catalogs: source,
                        interval: .milliseconds(50)
                    )
                    watch = duty
                    return duty
                },
                on: servers
            ) {
                let duty = try #require(watch)
                let begun = Self.failing()
                try await book.announce(begun)
                try await eventually("the scheduler knows it") { duty.outages.count == 1 }
                try await book.leave("w1")
                var scheduler = Self.heartbeat("s1", role: "scheduler")
                scheduler.remembered = duty.outages
                try await book.announce(scheduler)
                var restarted = Self.heartbeat("w2", role: "worker")
                restarted.troubles = Self.failing().troubles.map { outage in
                    var outage = outage
                    outage.since = DeadLetterSamples.ago(1)
                    return outage
                }
                try await book.announce(restarted)
                let whole = try await ProviderOutage.combined(of: book.all(), at: DeadLetterSamples.ago(0))
                #expect(whole.map(\.since) == begun.troubles.map(\.since))
                try await book.announce(Self.working("w2"))
                try await eventually("it is over") { duty.outages.isEmpty }
            }
        }
    }

    @Test("after a restart of all processes, many retries are brought forward at the first success, and a few are not")
    func restartedScheduler() async throws {
        try await ServerFixture.withSchema { servers in
            for user in 10...19 { try await servers.addRetry("u\(user)", through: "fcm", dueIn: 900) }
            try await servers.addRetry("x", through: "expo", dueIn: 900)
            let earlier = HeartbeatStore(pool: servers.pool)
            // The last success of a worker from before the start proves nothing.
            try await earlier.announce(Self.working("w1", at: DeadLetterSamples.ago(60)))
            try await Self.with(servers) { book, _, log in
                try await book.announce(Self.working("w2", ["expo", "fcm"]))
                try await eventually("the retries are due soon") {
                    try await servers.retryStates().filter { $0?.hasSuffix("deferred soon 1") == true }.count == 10
                }
                let others = try await servers.retryStates().last
                #expect(others == "x retrying later 1")
                let told = "provider accepts deliveries, bringing the retries from before this start forward"
                #expect(log.messages.first == told, "\(log.messages)")
            }
        }
    }

    @Test("a scheduler that is not the oldest measures, and acts only when the oldest one's heartbeat is old")
    func second() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 900)
            try await HeartbeatStore(pool: servers.pool).announce(Self.heartbeat("s0", role: "scheduler"))
            // However slow the machine is, this heartbeat is not old.
            _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
            try await Self.with(servers) { book, registry, log in
                try await book.announce(Self.heartbeat("s1", role: "scheduler"))
                try await book.announce(Self.failing())
                try await eventually("it is measured") { registry.text().contains("\(Self.gauge) 1") }
                try await book.announce(Self.recovered())
                try await eventually("it is over") { registry.text().contains("\(Self.gauge) 0") }
                let states = try await servers.retryStates()
                #expect(states == ["a retrying later 1"])
                #expect(log.messages == [])
                _ = try await servers.owner.run(
                    "UPDATE processes SET seen_at = now() - interval '40 s' WHERE id = 's0'"
                )
                try await eventually("the retry is due soon") {
                    try await servers.retryStates() == ["a deferred soon 1"]
                }
                let told = "provider accepts deliveries again, bringing its retries forward"
                #expect(log.messages.first == told, "\(log.messages)")
            }
        }
    }
}
