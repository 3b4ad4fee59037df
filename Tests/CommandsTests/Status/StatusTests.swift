import AMQP
import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop status",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct StatusTests {
    @Test("status shows the waiting messages, deliveries, planned events and dead letters")
    func status() async throws {
        try await ServerFixture.withTopology { servers in
            try await Self.fill(servers)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                // The broker's counts are delayed.
                let seen = try await answer(to: prompt) { $0.lanes[0].ready == 2 }
                #expect(seen.schema == "current")
                #expect(seen.topology == "current")
                #expect(seen.lanes.map(\.lane) == ["urgent", "normal", "bulk"])
                #expect(seen.lanes.allSatisfy { $0.unacked == nil && $0.oldestAgeSeconds == nil && $0.consumers == 0 })
                #expect(seen.retries.map(\.tier) == ["1s", "3s", "10s"])
                #expect(seen.deliveries.owed == 3)
                #expect(seen.deliveries.overdue == 1)
                #expect(seen.deliveries.groups.first?.reason == "quiet-hours")
                #expect(seen.deliveries.groups.first?.count == 2)
                #expect(seen.plannedEvents.waiting == 2)
                #expect(seen.plannedEvents.nextAt == "2100-01-01T00:00:00.000Z")
                #expect(seen.plannedEvents.overdue == 0)
                #expect(seen.deadLetters.open == 1)
                #expect(seen.deadLetters.groups.map(\.reason) == ["invalid-field"])
                #expect(seen.problems.contains { $0.hasPrefix("no worker runs, 2 messages wait") })
                let text = await prompt.run("status").output
                #expect(text.contains("1 delivery is overdue"))
                #expect(text.contains("deferred, quiet-hours"))
                #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
            }
        }
    }

    @Test("planned events overdue by more than a minute are reported as a problem")
    func overdueEvents() async throws {
        try await ServerFixture.withTopology { servers in
            try await Self.fill(servers, events: false)
            try await servers.pass("2 min", since: "planned_at", in: "events", where: "id = 'e1'")
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let seen = try await answer(to: prompt) { $0.plannedEvents.overdue == 1 }
                #expect(seen.problems.contains { $0.hasPrefix("1 planned event is overdue by more than a minute") })
            }
        }
    }

    @Test("consumers are reported as workers, and an idle system with all its roles is healthy")
    func workers() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                try await PipelineFixture.on(servers) { _ in
                    let seen = try await answer(to: prompt) { $0.problems.isEmpty }
                    #expect(seen.workers == ["urgent": 1, "normal": 1, "bulk": 1])
                    #expect(seen.schedulers == 1)
                }
                #expect(await prompt.run("status").code == .done)
            }
        }
    }

    private static let waiting = """
        INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
        VALUES ('drop', 'u', 'n', 'push', $1, 'deferred', $2, now())
        """

    @Test("a retry message without a waiting delivery is explained, and one with a delivery is not")
    func leftovers() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { full, _ in
                // No message returns from the tier while the test runs.
                let queue = "\(servers.names.namespace).retry.10m"
                try await BrokerSession.with(try servers.broker, name: "test, long tier") { session in
                    _ = try session.declareQueue(queue, arguments: ["x-queue-type": .string("quorum")])
                }
                let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
                publisher.start()
                let body = Array("{}".utf8)
                let message = OutgoingMessage(exchange: "", routingKey: queue, properties: .init(), body: body)
                #expect(await publisher.publish([message]) == [.confirmed])
                await publisher.close()
                let prompt = full.with("BELLHOP_RETRY_DELAYS", "10m")
                let left = try await answer(to: prompt) { $0.retries.first?.ready == 1 }
                #expect(left.retryLeftovers == 1)
                let text = await prompt.run("status").output
                let line = "1 retry message belongs to no waiting retry (brought forward or ended) and will have no"
                #expect(text.contains("\n  \(line) effect\n"), "\(text)")
                try await servers.addRetry("a", through: "fcm", dueIn: 610)
                let owned = try await answer(to: prompt) { $0.deliveries.owed == 1 }
                #expect(owned.retryLeftovers == 0)
                #expect(await !prompt.run("status").output.contains("no waiting retry"))
                try await BrokerSession.with(try servers.broker, name: "test, long tier") { session in
                    try session.deleteQueue(queue)
                }
            }
        }
    }

    @Test("a provider that rejects credentials is reported with its reason, as text and JSON")
    func breakers() async throws {
        try await ServerFixture.withTopology { servers in
            let app = try #require(AppID(validating: "drop"))
            let key = BreakerKey(app: app, provider: "fcm", platform: .ios)
            let book = WorkerStore(pool: servers.pool)
            try await book.open(key, reason: "THIRD_PARTY_AUTH_ERROR")
            try await book.open(BreakerKey(app: app, provider: "email"), reason: "authentication-refused")
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let text = await prompt.run("status").output.replacing("\n   ", with: " ")
                #expect(text.contains("fcm refuses drop (ios) for"))
                let page = "; see docs/runbooks/provider-refuses.md, and bellhop providers probe"
                #expect(text.contains("THIRD_PARTY_AUTH_ERROR: 0 pushes wait, next try at "))
                #expect(text.contains("email refuses drop for"))
                #expect(text.contains("authentication-refused: 0 mails wait, next try at "))
                #expect(text.contains(page), "\(text)")
                for (device, outlet) in [("a", "drop/fcm/ios"), ("b", "drop/fcm/ios"), ("c", "drop/fcm/android")] {
                    _ = try await servers.owner.run(Statement(Self.waiting), [.text(device), .text(outlet)])
                }
                let counted = await prompt.run("status").output.replacing("\n   ", with: " ")
                #expect(counted.contains("THIRD_PARTY_AUTH_ERROR: 2 pushes wait, next try at "), "\(counted)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#"--app drop --provider fcm tries now","page":"providers"}"#), "\(json)")
                #expect(json.contains(#""provider":"fcm","platform":"ios","reason":"THIRD_PARTY_AUTH_ERROR""#))
            }
        }
    }

    @Test("a backlog is reported by outlet with its age, as text and JSON, and is not overdue")
    func backlogs() async throws {
        try await ServerFixture.withTopology { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries
                    (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at, urgency)
                SELECT 'drop', 'u', 'n' || n, 'push', 'a', 'deferred', 'window-full',
                       CASE WHEN n < 3 THEN 'drop/expo' ELSE 'drop/fcm/ios' END, now() - n * interval '1 h', n % 3
                FROM generate_series(1, 5) AS n
                """
            )
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let text = await prompt.run("status").output.split(separator: "\n").map { line in
                    line.split(separator: " ").joined(separator: " ")
                }
                #expect(text.contains("drop/expo 2 2 h ago"))
                #expect(text.contains("drop/fcm/ios 3 5 h ago"))
                #expect(text.contains("owed deliveries none"))
                let json = await prompt.run("status", "--json").output
                let first = #""backlogs":[{"outlet":"drop/expo","waiting":2,"waitingIsCapped":false,"oldestAt":""#
                #expect(json.contains(first))
            }
        }
    }

    @Test("a delivery that is being sent is shown without the reason of its former wait")
    func sending() async throws {
        try await ServerFixture.withTopology { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at)
                SELECT 'drop', 'u', 'n' || state, 'push', 'a', state, 'held', now() + interval '1 min'
                FROM unnest(ARRAY['sending', 'deferred']) AS state
                """
            )
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let text = await prompt.run("status").output.split(separator: "\n").map { line in
                    line.split(separator: " ").joined(separator: " ")
                }
                #expect(text.contains { $0.hasPrefix("sending 1 ") }, "\(text)")
                #expect(text.contains { $0.hasPrefix("deferred, held 1 ") }, "\(text)")
                #expect(!text.contains { $0.hasPrefix("sending,") }, "\(text)")
            }
        }
    }

    @Test("without the broker, status shows the database's figures and exits with 69")
    func noBroker() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, events: false)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let prompt = prompt.with("BELLHOP_AMQP_URL", "amqp://127.0.0.1:1")
                let answer = await prompt.run("status")
                #expect(answer.code == .unavailable)
                #expect(answer.output.contains("!  the broker cannot be asked"))
                #expect(answer.output.contains("deferred, quiet-hours"))
                let json = await prompt.run("status", "--json")
                #expect(json.code == .unavailable)
                #expect(json.output.contains(#""lanes":null"#))
                #expect(json.output.contains(#""open":1"#))
                let words = "reachable; see docs/runbooks/broker.md. Stored events and deliveries are kept"
                #expect(json.output.contains(words), "\(json.output)")
            }
        }
    }

    @Test("without the database, status shows the broker's figures and exits with 69")
    func noDatabase() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let prompt = prompt.with("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none")
                let answer = await prompt.run("status", "--json")
                #expect(answer.code == .unavailable)
                #expect(answer.output.contains(#""queue":"\#(servers.names.lane(.bulk))""#))
                #expect(answer.output.contains(#""deliveries":null"#))
                #expect(answer.output.contains("the database cannot be asked"))
                #expect(!answer.output.contains("happen"), "a reading has no effect: \(answer.output)")
                #expect(answer.output.contains(#""schedulers":null"#))
                #expect(!answer.output.contains("no scheduler runs"))
            }
        }
    }

    @Test("a namespace without schema and topology is reported with the commands to run")
    func nothingThere() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let prompt = prompt.with("BELLHOP_NAMESPACE", "no_such_namespace_here")
                let answer = await prompt.run("status")
                #expect(answer.code == .done)
                #expect(answer.output.contains("run bellhop migrate"))
                #expect(answer.output.contains("run bellhop topology apply"))
                #expect(answer.output.contains("missing"))
            }
        }
    }

    private static func fill(_ servers: ServerFixture, events: Bool = true) async throws {
        try await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, due_at) VALUES
                    ('drop', 'u', 'n1', 'push', 'a', 'deferred', 'quiet-hours', now() + interval '3 h'),
                    ('drop', 'u', 'n2', 'push', 'a', 'deferred', 'quiet-hours', now() + interval '4 h'),
                    ('drop', 'u', 'n3', 'push', 'a', 'retrying', 'later', now() - interval '1 h'),
                    ('drop', 'u', 'n4', 'push', 'a', 'delivered', NULL, NULL);
                INSERT INTO events (app, id, content, planned_at, cancelled_at) VALUES
                    ('drop', 'e1', '{"to": {"users": ["u1"]}}', '2100-01-01T00:00:00Z', NULL),
                    ('drop', 'e2', '{"to": {"users": ["u1"]}}', '2099-01-01', now()),
                    ('drop', 'e3', '{"to": {"topic": "t"}}', '2100-06-01', NULL);
                INSERT INTO dead_letters (dead_id, fingerprint, state, stage, reason, error, attempts, first_failed_at,
                    last_failed_at, origin_exchange, origin_routing_key, properties, headers, body, content_hash) VALUES
                    ('d1', 'f', 'open', 'intake', 'invalid-field', 'e', 1, now(), now(), '', '', '{}', '{}', '', ''),
                    ('d2', 'f', 'resolved', 'intake', 'too-large', 'e', 1, now(), now(), '', '', '{}', '{}', '', '');
                """
            )
        }
        guard events else { return }
        let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test, publishing"))
        publisher.start()
        let messages = (1...2).map { _ in
            OutgoingMessage(exchange: servers.names.events, routingKey: "drop.security", body: Array("{}".utf8))
        }
        let outcomes = await publisher.publish(messages)
        await publisher.close()
        #expect(outcomes == [.confirmed, .confirmed])
    }

    /// Repeats the command until the answer fits.
    private func answer(to prompt: Prompt, _ fits: (StatusAnswer) -> Bool) async throws -> StatusAnswer {
        var output = ""
        var answer: StatusAnswer?
        try await eventually("the status fits: \(output)") {
            output = await prompt.run("status", "--json").output
            answer = try JSONDecoder().decode(StatusAnswer.self, from: Data(output.utf8))
            return answer.map(fits) ?? false
        }
        return try #require(answer)
    }
}

/// The member names on which scripts rely.
private struct StatusAnswer: Decodable {
    struct Queue: Decodable {
        let lane: String?
        let tier: String?
        let ready: Int
        let unacked: Int?
        let oldestAgeSeconds: Int?
        let consumers: Int
    }

    struct Deliveries: Decodable {
        struct Group: Decodable {
            let state: String
            let reason: String?
            let count: Int
            let oldestDueAt: String
        }

        let owed: Int
        let overdue: Int
        let groups: [Group]
    }

    struct Planned: Decodable {
        let waiting: Int
        let nextAt: String?
        let overdue: Int
    }

    struct DeadLetters: Decodable {
        struct Group: Decodable {
            let stage: String
            let reason: String
        }

        let open: Int
        let groups: [Group]
    }

    let problems: [String]
    let schema: String?
    let topology: String?
    let workers: [String: Int]
    let schedulers: Int
    let lanes: [Queue]
    let retries: [Queue]
    let retryLeftovers: Int?
    let deliveries: Deliveries
    let plannedEvents: Planned
    let deadLetters: DeadLetters
}
