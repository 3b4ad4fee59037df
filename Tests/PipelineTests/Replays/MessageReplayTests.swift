import AMQP
import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Sandbox
import Settings
import Store
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Replays of messages",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct MessageReplayTests {
    @Test("a rejected message is taken in when the reason of its rejection is removed, under its original routing key")
    func recorded() async throws {
        try await ReplayFixture.with { fixture in
            _ = try await fixture.servers.owner.run("ALTER TABLE inbox ADD CONSTRAINT bad CHECK (title <> 'bad')")
            // Neither the body nor a property contains app and type: only the routing key does.
            let body = #"{"id":"e1","to":{"user":"u1"},"title":"bad","body":""}"#
            try await fixture.pipeline.publish([fixture.pipeline.event(body, key: "drop.system")])
            try await fixture.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'refused-by-store'"
            )
            _ = try await fixture.servers.owner.run("ALTER TABLE inbox DROP CONSTRAINT bad")
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.recorded: 1])
            let items = try await fixture.items()
            #expect(items == ["resolved|1|1|recorded"])
            let titles = try await fixture.servers.column("SELECT user_id || ' ' || title FROM notifications")
            #expect(titles == ["u1 bad"])
        }
    }

    @Test("a message that is rejected again is the same item, counted once per replay, with the message unchanged")
    func refusedAgain() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.pipeline.publish([fixture.pipeline.event("not JSON {", key: "drop.system")])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            let before = try await fixture.servers.column(
                "SELECT encode(body, 'escape') || headers::text FROM dead_letters"
            )
            for deaths in 2...3 {
                let progress = try await fixture.wait(for: try await fixture.start())
                #expect(progress.outcomes == [.failed: 1])
                try await fixture.pipeline.wait(
                    for: deaths,
                    "SELECT deaths::bigint FROM dead_letters WHERE state = 'open'"
                )
            }
            let after = try await fixture.servers.column(
                "SELECT encode(body, 'escape') || headers::text FROM dead_letters"
            )
            #expect(after == before)
            let origins = try await fixture.servers.column(
                "SELECT origin_exchange || ' ' || origin_routing_key FROM dead_letters"
            )
            #expect(origins == ["\(fixture.servers.names.events) drop.system"])
        }
    }

    @Test("a replay on which the database fails does not stop another, and continues after the repair")
    func damaged() async throws {
        try await ReplayFixture.with { fixture in
            let letters = "SELECT count(*) FROM dead_letters WHERE state = 'open'"
            try await fixture.pipeline.publish([fixture.pipeline.event("not JSON {", key: "drop.system")])
            try await fixture.pipeline.wait(for: 1, letters)
            try await fixture.servers.damage("NEW.replay_id = 1", of: "replay_items", at: "UPDATE")
            let first = try await fixture.start()
            #expect(first == 1)
            try await fixture.pipeline.publish([fixture.pipeline.event("not JSON either {", key: "drop.security")])
            try await fixture.pipeline.wait(for: 1, letters)
            var others = DeadLetterFilter()
            others.type = "security"
            let progress = try await fixture.wait(for: try await fixture.start(others))
            #expect(progress.outcomes == [.failed: 1])
            try await fixture.servers.repair(of: "replay_items")
            _ = try await fixture.wait(for: first)
        }
    }

    @Test("a replayed event for a thousand users is sent only to users with open deliveries")
    func stillOwed() async throws {
        try await ReplayFixture.with { fixture in
            let users = (0..<1_000).map { "u\($0)" }
            try await fixture.peer.register(users.map { ($0, "token-\($0)") })
            try await fixture.peer.publish(["e1"], to: users)
            try await fixture.peer.waitUntilSettled(1_000)
            // The state after a worker has died halfway: 150 deliveries are open, and the event is a dead letter.
            _ = try await fixture.servers.owner.run(
                """
                UPDATE deliveries SET state = 'pending', due_at = now() + interval '1 hour'
                WHERE user_id IN (SELECT user_id FROM deliveries ORDER BY user_id LIMIT 150)
                """
            )
            let names = users.map { "\"\($0)\"" }.joined(separator: ",")
            let body = #"{"id":"e1","to":{"users":[\#(names)]},"title":"Hei","body":"på deg"}"#
            var letter = DeadLetterSamples.rejected("dead", reason: "delivery-limit", body: body)
            letter.origin.exchange = fixture.servers.names.events
            letter.origin.routingKey = "drop.transaction_complete"
            _ = try await DeadLetterStore(pool: fixture.servers.pool).file([letter])
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.alreadyRecorded: 1])
            try await fixture.peer.waitUntilSettled(1_000)
            let counts = fixture.peer.arrivals.values.sorted()
            #expect(counts.count == 1_000)
            #expect(counts.reduce(0, +) == 1_150)
            #expect(counts.max() == 2)
            let notifications = try await fixture.servers.count("SELECT count(*) FROM notifications")
            #expect(notifications == 1_000)
        }
    }

    @Test("a resume message that became a dead letter resumes again, and is not read as an invalid event")
    func ownWork() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.peer.register([("u1", "token-u1")])
            try await fixture.peer.publish(["e1"], to: ["u1"])
            try await fixture.peer.waitUntilSettled(1)
            // The open delivery when the message was lost.
            _ = try await fixture.servers.owner.run(
                "UPDATE deliveries SET state = 'pending', due_at = now() + interval '1 hour'"
            )
            let ids = try await fixture.servers.column("SELECT id FROM notifications")
            let id = try #require(ids.compactMap { $0 }.first)
            let body = #"{"notifications":[["drop","u1","\#(id)"]]}"#
            var letter = DeadLetterSamples.rejected("dead", reason: "delivery-limit", body: body)
            letter.origin.exchange = fixture.servers.names.retry(ServerFixture.tiers[0])
            letter.origin.routingKey = fixture.servers.names.resume(.normal)
            _ = try await DeadLetterStore(pool: fixture.servers.pool).file([letter])
            let forecast = ReplayDryRun(
                catalogs: fixture.servers.catalogs,
                zones: ZoneLibrary(environment: [:]),
                names: fixture.servers.names,
                pool: fixture.servers.pool
            )
            let arrival = ReplayDryRun.Arrival(letter.origin, at: DeadLetterSamples.ago(0))
            let prediction = try await forecast.predict(arrival, at: DeadLetterSamples.ago(0))
            #expect(prediction.kind == .stillOwed)
            #expect(forecast.rejection(of: arrival) == nil)
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.recorded: 1])
            try await fixture.peer.waitUntilSettled(1)
            #expect(fixture.peer.arrivals.values.sorted() == [2])
            #expect(try await fixture.items() == ["resolved|1|1|recorded"])
        }
    }

    @Test("a feed message without a source time counts from its first arrival, so that a newer update stands")
    func oldFeed() async throws {
        try await ReplayFixture.with { fixture in
            let newer = #"{"userId":"u1","locale":"nb"}"#
            try await fixture.pipeline.publish([fixture.pipeline.event(newer, key: "drop.recipient.upserted")])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM recipients")
            var letter = DeadLetterSamples.rejected(
                "old",
                failedAt: DeadLetterSamples.ago(3_600),
                body: #"{"userId":"u1","locale":"en"}"#
            )
            letter.origin.exchange = fixture.servers.names.events
            letter.origin.routingKey = "drop.recipient.upserted"
            _ = try await DeadLetterStore(pool: fixture.servers.pool).file([letter])
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.recorded: 1])
            let locales = try await fixture.servers.column("SELECT locale FROM recipients")
            #expect(locales == ["nb"])
        }
    }

    @Test("a message that the broker dead-lettered passes a retry queue after its replay, neither dropped nor stuck")
    func cycle() async throws {
        try await ReplayFixture.with { fixture in
            try await fixture.peer.register([("u1", "t1")])
            let body =
                #"{"id":"e1","app":"drop","eventType":"transaction_complete","to":{"user":"u1"},"title":"t","body":"b"}"#
            var properties = MessageProperties(contentType: "application/json")
            // The headers that RabbitMQ writes at the delivery limit, before another pass through the retry queue.
            let retry = fixture.servers.names.retry(ServerFixture.tiers[2])
            properties.headers = [
                "x-death": .array(
                    Self.deaths([fixture.servers.names.lane(.normal), retry, fixture.servers.names.resume(.bulk)])
                )
            ]
            let letter = OutgoingMessage(
                exchange: fixture.servers.names.dead,
                routingKey: "drop.transaction_complete",
                properties: properties,
                body: Array(body.utf8)
            )
            try await fixture.pipeline.publish([letter])
            try await fixture.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'delivery-limit'")
            fixture.peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)])
            let progress = try await fixture.wait(for: try await fixture.start())
            #expect(progress.outcomes == [.recorded: 1])
            try await fixture.peer.waitUntilSettled(1)
            let ledger = try await fixture.peer.ledger()
            #expect(ledger == ["u1|delivered|2"])
        }
    }

    private static func deaths(_ queues: [String]) -> [FieldValue] {
        queues.map { queue in
            .table([
                "queue": .string(queue), "reason": .string("delivery_limit"), "exchange": .string(""), "count": 1,
                "routing-keys": .array([.string("drop.transaction_complete")]),
            ])
        }
    }
}

@Suite("The message of a replay")
struct ReplayedMessageTests {
    @Test("body, properties and headers are unchanged, except for headers that must not be republished")
    func clean() throws {
        var headers: FieldTable = [
            "tenant": .string("blue"), "bytes": .bytes([0, 255]), "small": .int8(-3), "when": .timestamp(1_700_000_000),
            "price": .decimal(scale: 2, value: 1999),
            "list": .array([.int64(1), .void, .table(["a": .boolean(true)])]),
            "nul": .string("a\u{0}b"),
        ]
        let wanted = headers
        for name in [
            "x-death", "x-first-death-queue", "x-last-death-reason", "x-delivery-count", "CC", "x-bellhop-user",
        ] {
            headers[name] = .string("no")
        }
        var properties = MessageProperties(contentType: "application/json", messageID: "m1")
        properties.expiration = "1000"
        properties.userID = "guest"
        properties.priority = 7
        properties.timestamp = 1_700_000_000
        properties.deliveryMode = .transient
        let body: [UInt8] = [0, 1, 2, 255]
        let origin = DeadLetterItem.Origin(
            exchange: "x.events",
            routingKey: "drop.system",
            properties: AMQPJSON.object(properties),
            headers: AMQPJSON.object(headers),
            body: body
        )
        let mark = DeadLetterItem.ReplayMark(item: "dead-1", replay: 7, round: 2)
        let names = TopologyNames(try #require(Namespace("x")))
        let message = OutgoingMessage(
            replaying: origin,
            ReplayHeaders(mark, by: "ada", origin: origin, arrivedAt: DeadLetterSamples.ago(60)),
            names: names
        )
        #expect(message.body == body)
        #expect(message.exchange == "x.work")
        #expect(message.routingKey == "x.replay")
        #expect(message.properties.messageID == "m1")
        #expect(message.properties.timestamp == 1_700_000_000)
        #expect(message.properties.deliveryMode == .persistent)
        #expect(message.properties.expiration == nil)
        #expect(message.properties.userID == nil)
        #expect(message.properties.priority == nil)
        let own = message.properties.headers.removing(where: ReplayHeaders.headerNames.contains)
        #expect(own.entries.count == wanted.entries.count)
        for entry in wanted.entries { #expect(own[entry.name] == entry.value, "\(entry.name)") }
        #expect(ReplayHeaders(marks: message.properties.headers)?.mark == mark)
        #expect(ReplayHeaders(marks: message.properties.headers)?.routingKey == "drop.system")
    }

    @Test("a ramp increases its steps as in 1, 2, 5, 10, up to the window")
    func ramp() {
        var steps = [1]
        while steps.count < 12 { steps.append(ReplayRunner.rampStep(after: steps[steps.count - 1])) }
        #expect(steps == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1000, 1000])
    }

    @Test("a rate permits its number of items per second, without catching up after a pause")
    func rate() {
        let start = ContinuousClock.now
        var throttle = ReplayThrottle(rate: 10, now: start)
        #expect(throttle.grant(100, now: start) == 0)
        #expect(throttle.grant(100, now: start + .milliseconds(500)) == 5)
        #expect(throttle.grant(100, now: start + .seconds(60)) == 10)
        throttle.giveBack(4)
        #expect(throttle.grant(100, now: start + .seconds(60)) == 4)
        throttle.rate = 20
        #expect(throttle.grant(100, now: start + .seconds(61)) == 20, "a new rate applies from the next grant on")
        var unlimited = ReplayThrottle(rate: nil, now: start)
        #expect(unlimited.grant(700, now: start) == 700)
    }
}
