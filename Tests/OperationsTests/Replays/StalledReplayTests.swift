import AMQP
import CommandLineSupport
import IntegrationSupport
import Operations
import Settings
import Store
import TestSupport
import Testing

@Suite(
    "Stalled replays",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct StalledReplayTests {
    /// Returns the explanation of the replay for an address of the broker.
    private static func words(on servers: ServerFixture, broker: String?) async throws -> String {
        try await replays(on: servers, broker: broker) { await $0.standstillReason() }
    }

    private static func replays<Answer: Sendable>(
        on servers: ServerFixture,
        broker: String?,
        _ ask: @Sendable (ReplayOperations) async -> Answer
    ) async throws -> Answer {
        try await CommandFolder.withPrompt(on: servers) { prompt, _ in
            var environment = prompt.environment
            environment["BELLHOP_AMQP_URL"] = broker
            let configuration = try BellhopConfiguration.read(flags: [:], environment: environment, required: []).get()
            let zones = ZoneLibrary(environment: environment)
            let context = OperationsContext(configuration: configuration, pool: servers.pool, zones: zones)
            return await ask(ReplayOperations(context))
        }
    }

    @Test("the explanation without the broker does not advise starting a scheduler that may be running")
    func noBroker() async throws {
        try await ServerFixture.withSchema { servers in
            let away = try await Self.words(on: servers, broker: "amqp://127.0.0.1:1")
            #expect(away.hasPrefix("It waits for the broker, which cannot be reached: "))
            #expect(away.contains("schedulers cannot be counted"))
            #expect(!away.contains("start one"))
            let unknown = try await Self.words(on: servers, broker: nil)
            #expect(unknown.contains("no scheduler is running, or it cannot reach the broker"))
        }
    }

    @Test("a replay that a scheduler has taken is reported to wait for the broker only if that cannot be reached")
    func carried() async throws {
        try await ServerFixture.withTopology { servers in
            let ask = { @Sendable (replays: ReplayOperations) in await replays.obstacle() }
            let away = try await Self.replays(on: servers, broker: "amqp://127.0.0.1:1", ask)
            #expect(away?.hasPrefix("It waits for the broker, which cannot be reached: ") == true)
            let here = try await Self.replays(on: servers, broker: Servers.amqpURL, ask)
            #expect(here == nil)
            let unknown = try await Self.replays(on: servers, broker: nil, ask)
            #expect(unknown == nil)
        }
    }

    @Test("a replay whose messages no worker takes is reported to wait for one")
    func noWorker() async throws {
        try await ServerFixture.withTopology { servers in
            let ask = { @Sendable (replays: ReplayOperations) in await replays.obstacle() }
            try await Self.announce("scheduler", servers)
            let alone = try await Self.replays(on: servers, broker: Servers.amqpURL, ask)
            #expect(alone == "Its messages wait for a worker, and none is running: start one (bellhop worker).")
            try await Self.announce("worker", servers)
            let both = try await Self.replays(on: servers, broker: Servers.amqpURL, ask)
            #expect(both == nil)
        }
    }

    private static func announce(_ role: String, _ servers: ServerFixture) async throws {
        let identity = Heartbeat.Identity(id: role, role: role, version: "1", host: "h", process: 7)
        try await HeartbeatStore(pool: servers.pool).announce(Heartbeat(identity, catalogs: "same"))
    }

    @Test("the explanation with the broker states whether a scheduler is running")
    func broker() async throws {
        try await ServerFixture.withTopology { servers in
            let url = Servers.amqpURL
            let idle = try await Self.words(on: servers, broker: url)
            #expect(idle == "The replay is not running: no scheduler is running; start one (bellhop scheduler).")
            let consumer = Consumer(
                ConsumerOptions(
                    broker: try servers.broker,
                    name: "test",
                    subscriptions: [.init(queue: servers.names.dead, prefetch: 1)]
                )
            )
            consumer.start()
            var busy = ""
            for _ in 0..<1_000 where !busy.hasPrefix("A scheduler is connected") {
                busy = try await Self.words(on: servers, broker: url)
            }
            await consumer.close()
            #expect(busy.contains("bellhop status shows within half a minute whether it hangs"), "\(busy)")
            try await Self.announce("scheduler", servers)
            _ = try await servers.owner.run("UPDATE processes SET seen_at = now() - interval '40 s'", [])
            let hung = try await Self.words(on: servers, broker: url)
            #expect(hung.hasPrefix("Scheduler h[7] has sent no heartbeat since 20"), "\(hung)")
            let taken = try await Self.replays(on: servers, broker: url) { await $0.obstacle() }
            #expect(taken == hung)
        }
        try await ServerFixture.withSchema { servers in
            let none = try await Self.words(on: servers, broker: Servers.amqpURL)
            #expect(none.contains("run bellhop topology apply"))
        }
    }
}
