import AMQP
import Postgres
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Canary publishing", .timeLimit(.ofTest))
struct CanarySongTests {
    private func canary(by publisher: any MessagePublisher) throws -> Canary {
        // No statement reaches this database: no canary returns here.
        let pool = PostgresPool(PoolOptions(url: try DatabaseURL("postgres://127.0.0.1:1/none")))
        let names = TopologyNames(try #require(Namespace("song")))
        let cage = Canary.Shared(process: "w", book: HeartbeatStore(pool: pool), publisher: publisher, names: names)
        return Canary(for: "normal", of: cage)
    }

    private func age() -> Gauge { MetricsRegistry().gauge("bellhop_test_age_seconds", help: "-") }

    @Test("a broker that confirms nothing does not delay a drain")
    func silentBroker() async throws {
        let broker = SilentBroker()
        let canary = try canary(by: broker)
        let (drain, age) = (DrainSignal(), age())
        let sending = Task { await canary.sendRepeatedly(until: drain, to: { .free }, age) }
        try await eventually("one is sent") { broker.isAsked }
        #expect(canary.whatIsWrong == "its canary is not back yet: not consumed")
        drain.fire()
        await sending.value
        broker.answer()
    }

    @Test("no canary is sent during an alarm, or if the lane may have no queue")
    func hindered() async throws {
        let broker = SilentBroker()
        let canary = try canary(by: broker)
        let (drain, age) = (DrainSignal(), age())
        let sending = Task {
            await canary.sendRepeatedly(until: drain, to: { .refused("the broker answers 403") }, age)
        }
        try await eventually("it says so") { canary.whatIsWrong?.contains("the broker answers 403") == true }
        broker.isBlocked = true
        try await eventually("the alarm is said") { canary.whatIsWrong?.contains(PublishOutcome.alarm) == true }
        drain.fire()
        await sending.value
        #expect(!broker.isAsked)
    }
}

/// Takes messages and confirms none of them until the test permits it.
private final class SilentBroker: MessagePublisher {
    private struct State {
        var isBlocked = false
        var isAsked = false
        var hasAnswered = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var isConnected: Bool { true }
    var isAsked: Bool { state.withLock(\.isAsked) }

    var isBlocked: Bool {
        get { state.withLock(\.isBlocked) }
        set { state.withLock { $0.isBlocked = newValue } }
    }

    func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome] { await publish(messages) }

    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                state.isAsked = true
                if !state.hasAnswered { state.waiting.append(waiter) }
                return state.hasAnswered
            }
            if isOver { waiter.resume() }
        }
        return messages.map { _ in .confirmed }
    }

    func answer() {
        let waiting = state.withLock { state in
            state.hasAnswered = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }
}
