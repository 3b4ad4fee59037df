import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@Suite("Inbox change notifications", .limitedConcurrency, .enabled(if: Servers.databaseURL != nil), .timeLimit(.ofTest))
struct InboxChangeNotifierTests {
    private static let announced = "bellhop_live_announcements_total"

    private static func herald(
        _ servers: ServerFixture,
        _ metrics: MetricsRegistry,
        _ rhythm: InboxChangeNotifier.Rhythm = InboxChangeNotifier.Rhythm()
    ) -> InboxChangeNotifier {
        let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
        let book = ListenerStore(pool: servers.pool, namespace: servers.namespace)
        return InboxChangeNotifier(book: book, rhythm: rhythm, logger: logger, metrics: metrics)
    }

    private static func users(_ count: Int) throws -> [UserKey] {
        try (0..<count).map { number in
            UserKey(
                app: try #require(AppID(validating: "drop")),
                user: try #require(UserID(validating: "user\(number)"))
            )
        }
    }

    @Test("changes while a process ends are announced at its end")
    func lastWords() async throws {
        try await ServerFixture.withSchema { servers in
            let metrics = MetricsRegistry()
            let herald = Self.herald(servers, metrics)
            let drain = DrainSignal()
            drain.fire()
            try await herald.run(until: drain)
            herald.expectListeners()
            herald.changed(try Self.users(3))
            await herald.flush()
            #expect(metrics.text().contains("\(Self.announced) 3\n"))
        }
    }

    @Test("a poll that began before a listener was expected does not stop the announcements")
    func lateLook() async throws {
        try await ServerFixture.withSchema { servers in
            let metrics = MetricsRegistry()
            let herald = Self.herald(servers, metrics)
            let drain = DrainSignal()
            let running = try await RowLock.hold(on: servers, "LOCK TABLE listeners IN ACCESS EXCLUSIVE MODE") {
                let running = Task { try await herald.run(until: drain) }
                try await eventually("it looks who listens") {
                    try await servers.count(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass",
                        [.text("\(servers.namespace).listeners")]
                    ) > 0
                }
                herald.expectListeners()
                drain.fire()
                return running
            }
            try await running.value
            herald.changed(try Self.users(3))
            await herald.flush()
            #expect(metrics.text().contains("\(Self.announced) 3\n"))
        }
    }

    @Test("more changes than the maximum are announced once, as a change for everyone")
    func overflow() async throws {
        try await ServerFixture.withSchema { servers in
            let metrics = MetricsRegistry()
            let herald = Self.herald(servers, metrics, InboxChangeNotifier.Rhythm(most: 5))
            herald.expectListeners()
            herald.changed(try Self.users(6))
            herald.changed(try Self.users(2))
            await herald.flush()
            #expect(metrics.text().contains("\(Self.announced) 1\n"))
        }
    }

    @Test("the report that a user has read something elsewhere is announced", .enabled(if: Servers.amqpURL != nil))
    func readElsewhere() async throws {
        try await ServerFixture.withTopology { servers in
            let metrics = MetricsRegistry()
            let herald = Self.herald(servers, metrics)
            herald.expectListeners()
            var outfit = PipelineFixture.Outfit()
            outfit.herald = herald
            try await PipelineFixture.on(servers, outfit: outfit) { pipeline in
                let body = #"{"userId":"ada","all":true}"#
                try await pipeline.publish([pipeline.event(body, key: "drop.notification.read")])
                try await eventually {
                    await herald.flush()
                    return metrics.text().contains("\(Self.announced) 1\n")
                }
            }
        }
    }
}
