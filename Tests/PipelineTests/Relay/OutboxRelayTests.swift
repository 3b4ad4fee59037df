import AMQP
import BellhopRules
import Dispatch
import IntegrationSupport
@testable import Pipeline
import Postgres
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

@Suite("Relay", .limitedConcurrency, .enabled(if: Servers.databaseURL != nil), .timeLimit(.ofTest))
struct OutboxRelayTests {
    /// Runs a relay with a scripted broker until a condition is met, and then drains it.
    private static func relaying(
        _ fixture: PublisherFixture,
        through broker: ScriptedBroker,
        time: any TimeSource = SystemTime(),
        until isDone: @escaping @Sendable () async throws -> Bool
    ) async throws {
        try await fixture.relay("one") { outbox in
            let context = OutboxRelay.Context(
                outbox: outbox,
                listener: OutboxListener(fixture.url),
                publisher: broker,
                names: TopologyNames(Namespace.usual),
                time: time,
                logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
                metrics: MetricsRegistry()
            )
            let relay = OutboxRelay(context)
            let drain = DrainSignal()
            async let running: Void = relay.run(until: drain)
            try await eventually("the relay has done its work") { try await isDone() }
            drain.fire()
            try await running
        }
    }

    @Test("a row is deleted after its confirm and not before, and a refused one is published again")
    func confirms() async throws {
        try await PublisherFixture.with { fixture in
            for id in ["a", "b", "c"] { try await fixture.publish(#"{"id":"\#(id)"}"#, key: "k") }
            let broker = ScriptedBroker { ids, call in
                ids.map { id in call == 1 && id == "b" ? .refused : .confirmed }
            }
            try await Self.relaying(fixture, through: broker) { try await fixture.waiting().isEmpty }
            #expect(broker.calls == [["a", "b", "c"], ["b"]])
        }
    }

    @Test("messages without an outcome are published again in their order")
    func unknown() async throws {
        try await PublisherFixture.with { fixture in
            for id in ["a", "b", "c"] { try await fixture.publish(#"{"id":"\#(id)"}"#, key: "k") }
            let broker = ScriptedBroker { ids, call in
                ids.map { _ in call == 1 ? .unknown("the connection ended") : .confirmed }
            }
            try await Self.relaying(fixture, through: broker) { try await fixture.waiting().isEmpty }
            #expect(broker.calls == [["a", "b", "c"], ["a"], ["b", "c"]])
        }
    }

    @Test("an event that the broker never accepts is set aside, and all others are published, also those of its key")
    func setAside() async throws {
        try await PublisherFixture.with { fixture in
            for id in ["a", "bad", "c", "d"] { try await fixture.publish(#"{"id":"\#(id)"}"#, key: "k") }
            let broker = ScriptedBroker { ids, _ in
                ids.contains("bad")
                    ? ids.map { id in id == "a" ? .confirmed : .notSent("ACCESS_REFUSED") }
                    : ids.map { _ in .confirmed }
            }
            try await Self.relaying(fixture, through: broker) { try await fixture.waiting() == ["bad"] }
            #expect(broker.calls == [["a", "bad", "c", "d"], ["bad"], ["c"], ["d"]])
        }
    }

    @Test("a hundred refused events at the head delay no other event, and are published once the broker accepts them")
    func manyRefused() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.execute(
                "SELECT bellhop_publish(jsonb_build_object('id', 'bad' || n), 'k') FROM generate_series(1, 100) AS n"
            )
            try await fixture.publish(#"{"id":"good"}"#, key: "k")
            let time = ManualTime()
            let isAllowed = Mutex(false)
            let broker = ScriptedBroker { ids, _ in
                guard !isAllowed.withLock({ $0 }), ids.contains(where: { id in id.hasPrefix("bad") }) else {
                    return ids.map { _ in .confirmed }
                }
                return ids.map { _ in ids.count == 1 ? .notSent("ACCESS_REFUSED") : .unknown("the channel ended") }
            }
            try await Self.relaying(fixture, through: broker, time: time) {
                let waiting = try await fixture.waiting()
                guard !waiting.contains("good") else { return false }
                // The broker accepts them from now on, and their rest of a minute is over.
                isAllowed.withLock { $0 = true }
                time.advance(by: .seconds(61))
                return waiting.isEmpty
            }
            let attempts = Dictionary(grouping: broker.calls.filter { ids in ids.count == 1 }) { ids in ids[0] }
            #expect(attempts["bad1"]?.count == 1)
        }
    }

    @Test("a key whose transactions are always open is read while other keys have events, too")
    func hotKey() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.publish(#"{"id":"hot"}"#, key: "hot")
            try await fixture.publish(#"{"id":"other"}"#, key: "other")
            // The relay is never without rows of another key.
            let broker = ScriptedBroker(before: { _ = try? await fixture.publish(#"{"id":"other"}"#, key: "other") }) {
                ids,
                _ in ids.map { _ in .confirmed }
            }
            let (arrivals, reached) = AsyncStream.makeStream(of: Void.self)
            let end = DispatchSemaphore(value: 0)
            async let open: Void = fixture.application.transaction { (connection) throws(PostgresError) in
                _ = try connection.run(PublisherFixture.publish, [.text(#"{"id":"open"}"#), .text("hot")])
                reached.finish()
                end.wait()
            }
            for await _ in arrivals {}
            try await Self.relaying(fixture, through: broker) {
                // The open transaction ends as soon as the relay waits for its slot.
                let waits = try await fixture.application.run(
                    """
                    SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                    WHERE l.locktype = 'advisory' AND NOT l.granted AND l.classid = 'bellhop_outbox'::regclass
                    """
                )
                if try waits.integer(0, 0) > 0 { end.signal() }
                return broker.calls.contains { ids in ids.contains("open") }
            }
            try await open
            let hot = broker.calls.flatMap { ids in ids }.filter { id in ["hot", "open"].contains(id) }
            #expect(hot == ["hot", "open"])
        }
    }

    @Test("a row that was written below the floor, without the table's trigger, is found and published")
    func stray() async throws {
        try await PublisherFixture.with { fixture in
            let first = try await fixture.publish(#"{"id":"first"}"#, key: nil)
            let time = ManualTime()
            let broker = ScriptedBroker { ids, _ in ids.map { _ in .confirmed } }
            let isWritten = Mutex(false)
            try await Self.relaying(fixture, through: broker, time: time) {
                guard try await fixture.waiting().isEmpty else {
                    time.advance(by: .seconds(61))
                    return false
                }
                let isFirst = isWritten.withLock { isWritten in
                    defer { isWritten = true }
                    return !isWritten
                }
                guard isFirst else { return true }
                try await fixture.execute(
                    """
                    ALTER TABLE bellhop_outbox DISABLE TRIGGER USER;
                    INSERT INTO bellhop_outbox (id, event, slot) VALUES (\(first - 1), '{"id":"stray"}', 7)
                    """
                )
                return false
            }
            #expect(broker.calls == [["first"], ["stray"]])
        }
    }

    @Test("an event that is committed while the relay sleeps is published, and the readiness has no hindrance then")
    func later() async throws {
        try await PublisherFixture.with { fixture in
            let broker = ScriptedBroker { ids, _ in ids.map { _ in .confirmed } }
            try await Self.relaying(fixture, through: broker) {
                if broker.calls.isEmpty { try await fixture.publish(#"{"id":"late"}"#, key: nil) }
                return try await fixture.waiting().isEmpty && !broker.calls.isEmpty
            }
            #expect(broker.calls.flatMap { ids in ids }.allSatisfy { id in id == "late" })
        }
    }
}

/// A broker whose outcomes a test defines.
///
/// Thread safety: the calls are behind a lock.
private final class ScriptedBroker: MessagePublisher {
    typealias Script = @Sendable (_ ids: [String], _ call: Int) -> [PublishOutcome]

    private let before: @Sendable () async -> Void
    private let script: Script
    private let published = Mutex<[[String]]>([])

    init(before: @escaping @Sendable () async -> Void = {}, _ script: @escaping Script) {
        self.before = before
        self.script = script
    }

    /// The ids of the events of each call.
    var calls: [[String]] { published.withLock { $0 } }
    var isConnected: Bool { true }
    var isBlocked: Bool { false }

    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
        messages.map { _ in .notSent("a relay publishes in order") }
    }

    func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome] {
        await before()
        let ids = messages.map { message in
            (try? JSONParser().parse(message.body).get())?["id"]?.string ?? ""
        }
        let call = published.withLock { published in
            published.append(ids)
            return published.count
        }
        return script(ids, call)
    }
}
