import AMQP
import BellhopRules
import IntegrationSupport
@testable import Pipeline
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
        until isDone: @escaping @Sendable () async throws -> Bool
    ) async throws {
        try await fixture.relay("one") { outbox in
            let context = OutboxRelay.Context(
                outbox: outbox,
                listener: OutboxListener(fixture.url),
                publisher: broker,
                names: TopologyNames(Namespace.usual),
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
            #expect(broker.calls == [["a", "bad", "c", "d"], ["bad"], ["bad"], ["bad"], ["c"], ["d"]])
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

    private let script: Script
    private let published = Mutex<[[String]]>([])

    init(_ script: @escaping Script) { self.script = script }

    /// The ids of the events of each call.
    var calls: [[String]] { published.withLock { $0 } }
    var isConnected: Bool { true }
    var isBlocked: Bool { false }

    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
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
