import AMQP
import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline
@testable import Tracing

@Suite(
    "Fan-outs",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct FanoutTests {
    private static let finished = "SELECT count(*) FROM fanouts WHERE state = 'finished'"

    private static func follow(_ count: Int, in servers: ServerFixture) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO follows (app, topic, user_id, since, source_time)
            SELECT 'drop', 'venue:1', 'u' || n, now(), now() FROM generate_series(1, $1::bigint) n
            """,
            [.integer(Int64(count))]
        )
    }

    private static func event(_ id: String, _ pipeline: PipelineFixture, title: String = "Hei", to: String = "")
        -> OutgoingMessage
    {
        let to = to.isEmpty ? #"{"topic":"venue:1"}"# : to
        return pipeline.event(#"{"id":"\#(id)","to":\#(to),"title":"\#(title)","body":"på deg"}"#, key: "drop.system")
    }

    private static func withRig(
        tracer: Tracer? = nil,
        _ body: @escaping @Sendable (PipelineFixture) async throws -> Void
    ) async throws {
        var outfit = PipelineFixture.Outfit()
        outfit.tracer = tracer
        try await ServerFixture.withTopology { [outfit] servers in
            try await PipelineFixture.on(servers, outfit: outfit, body)
        }
    }

    @Test("an event for a topic becomes one notification for each follower, page by page, and its repeats add none")
    func topic() async throws {
        try await Self.withRig { pipeline in
            try await Self.follow(100, in: pipeline.servers)
            try await pipeline.publish([Self.event("e", pipeline), Self.event("e", pipeline)])
            try await pipeline.wait(for: 1, Self.finished)
            try await pipeline.publish([
                Self.event("e", pipeline), Self.event("end", pipeline, to: #"{"user":"last"}"#),
            ])
            try await pipeline.wait(for: 101, "SELECT count(*) FROM notifications")
            let users = "SELECT count(DISTINCT user_id) FROM notifications n JOIN follows f USING (app, user_id)"
            #expect(try await pipeline.servers.count(users) == 100)
            let sums = try await pipeline.servers.column("SELECT pages || ' ' || users || ' ' || recorded FROM fanouts")
            #expect(sums == ["15 100 100"])
        }
    }

    @Test("each page is a separate trace with a link to its event's trace, which its producer began")
    func traces() async throws {
        let settings = try #require(try TracingSettings.read(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"]))
        let tracer = Tracer(settings, registry: MetricsRegistry())
        try await Self.withRig(tracer: tracer) { pipeline in
            try await Self.follow(20, in: pipeline.servers)
            var properties = MessageProperties()
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            properties.headers = ["traceparent": .string(parent)]
            let body = #"{"id":"e","to":{"topic":"venue:1"},"title":"Hei","body":""}"#
            try await pipeline.publish([pipeline.event(body, key: "drop.system", properties: properties)])
            try await pipeline.wait(for: 1, Self.finished)
            let spans = tracer.queue.take(.max)
            let first = spans.first { $0.name == "receive" }
            let receipt = try #require(first)
            #expect(receipt.context.trace.text == "0af7651916cd43dd8448eb211c80319c")
            let pages = spans.filter { $0.name == "page" }
            #expect(pages.count == 3)
            let linked = pages.filter { $0.links.map(\.span) == [receipt.context.span] && $0.parent == nil }
            #expect(linked.count == 3)
            let traces = Set(pages.map(\.context.trace) + [receipt.context.trace])
            #expect(traces.count == 4)
            let parents = spans.filter { $0.name == "record" }.map { $0.parent?.span.text ?? "-" }.sorted()
            let ids = pages.map { $0.context.span.text }.sorted()
            #expect(parents == ids)
        }
    }

    @Test("a follower who has the event with other content gets a dead letter that names only such users")
    func conflict() async throws {
        try await Self.withRig { pipeline in
            try await Self.follow(20, in: pipeline.servers)
            try await pipeline.publish([Self.event("e", pipeline, title: "Andre ord", to: #"{"users":["u3","u4"]}"#)])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM notifications")
            try await pipeline.publish([Self.event("e", pipeline)])
            try await pipeline.wait(for: 1, Self.finished)
            try await pipeline.wait(for: 20, "SELECT count(*) FROM notifications")
            let letters =
                "SELECT coalesce(sum(jsonb_array_length(convert_from(body, 'UTF8')::jsonb #> '{to,users}')), 0) FROM dead_letters"
            try await pipeline.wait(for: 2, letters)
            let reasons = try await pipeline.servers.column("SELECT DISTINCT reason FROM dead_letters")
            #expect(reasons == ["id-conflict"])
        }
    }

    @Test("a record of a page that the database rejects is a dead letter, and the page is finished without it")
    func poison() async throws {
        try await Self.withRig { pipeline in
            try await Self.follow(20, in: pipeline.servers)
            let number = "(SELECT number FROM people WHERE user_id = 'u7')"
            _ = try await pipeline.servers.owner.run(
                "INSERT INTO people (app, user_id) VALUES ('drop', 'u7')"
            )
            let person = try await pipeline.servers.count("SELECT \(number)")
            _ = try await pipeline.servers.owner.run(Statement("ALTER TABLE inbox ADD CHECK (person <> \(person))"))
            try await pipeline.publish([Self.event("e", pipeline)])
            try await pipeline.wait(for: 1, Self.finished)
            try await pipeline.wait(for: 19, "SELECT count(*) FROM notifications")
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'refused-by-store' AND user_id = 'u7'"
            )
        }
    }

    @Test("pages with a user whose rows make the database fail delay no other page, and finish after the repair")
    func damaged() async throws {
        try await Self.withRig { pipeline in
            try await Self.follow(20, in: pipeline.servers)
            let people = "INSERT INTO people (app, user_id) VALUES ('drop', 'u1'), ('drop', 'u12'), ('drop', 'u20')"
            let follow = "INSERT INTO follows (app, topic, user_id, since, source_time)"
            _ = try await pipeline.servers.owner.run(Statement(people))
            _ = try await pipeline.servers.owner.run(
                Statement(follow + " VALUES ('drop', 'venue:2', 'w', now(), now())")
            )
            let known = try await pipeline.servers.column("SELECT number::text FROM people WHERE user_id LIKE 'u%'")
            let numbers = known.compactMap { $0 }.joined(separator: ",")
            try await pipeline.servers.damage("NEW.person IN (\(numbers))")
            try await pipeline.publish([Self.event("e", pipeline)])
            try await pipeline.wait(for: 17, "SELECT count(*) FROM notifications")
            try await pipeline.publish([Self.event("f", pipeline, to: #"{"topic":"venue:2"}"#)])
            try await pipeline.wait(for: 1, Self.finished)
            try await pipeline.servers.repair()
            try await pipeline.wait(for: 2, Self.finished)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM notifications") == 21)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("a fan-out whose pages were lost with their messages continues, and so does a paused one")
    func lost() async throws {
        try await Self.withRig { pipeline in
            try await Self.follow(100, in: pipeline.servers)
            // As if a worker had opened it and died: no message names its page.
            _ = try await pipeline.servers.owner.run(
                """
                INSERT INTO events (app, id, content_hash, content, urgency) VALUES ('drop', 'e', '\\x00',
                    '{"id":"e","app":"drop","eventType":"system","to":{"topic":"venue:1"},"title":"Hei","body":""}', 2)
                """
            )
            _ = try await pipeline.servers.owner.run(
                """
                WITH opened AS (
                    INSERT INTO fanouts (app, event_id, type, topic, urgency, state, planned, planned_to)
                    VALUES ('drop', 'e', 'system', 'venue:1', 2, 'paused', 1, 'u16') RETURNING number
                )
                INSERT INTO fanout_pages (fanout, page, after, upto) SELECT number, 0, '', 'u16' FROM opened
                """
            )
            _ = try await pipeline.servers.owner.run("UPDATE fanouts SET state = 'running'")
            try await pipeline.wait(for: 1, Self.finished)
            try await pipeline.wait(for: 100, "SELECT count(*) FROM notifications")
        }
    }
}
