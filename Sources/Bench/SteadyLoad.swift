import ServiceRuntime
import Synchronization

/// Publishes a workload's events at a constant rate, for as long as wanted.
///
/// Only sums are kept, so that its memory does not depend on the time.
final class SteadyLoad: Sendable {
    private static let tick = Duration.milliseconds(100)
    /// The time of work that may be outstanding; beyond it events are left out, so that no queue grows.
    private static let mostSeconds = 60

    private struct State {
        var events: Int
        var expected = Workload.Expectation()
        var omitted = 0
        var isStopped = false
    }

    private let workload: Workload
    private let rate: Int
    private let testbed: Testbed
    private let state: Mutex<State>

    /// Publishes the workload's events from the number `start` on.
    init(_ workload: Workload, from start: Int, _ rate: Int, on testbed: Testbed) {
        self.workload = workload
        self.rate = rate
        self.testbed = testbed
        state = Mutex(State(events: start))
    }

    /// The number of the next event.
    var events: Int { state.withLock(\.events) }

    /// The expected result of the published events.
    var expected: Workload.Expectation { state.withLock(\.expected) }

    /// The events that were left out because the worker was too slow.
    var omitted: Int { state.withLock(\.omitted) }

    /// Whether more pushes than this are outstanding for the rate.
    func isTooMuch(_ waiting: Int) -> Bool { waiting > rate * Self.mostSeconds }

    /// Publishes until it is stopped; `waiting` returns the number of outstanding pushes.
    func run(_ waiting: () async throws -> Int) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        var (scheduled, nextLook) = (0, start)
        var isHeldBack = false
        while !isStopped {
            let now = clock.now
            if now >= nextLook {
                isHeldBack = isTooMuch(try await waiting())
                nextLook = now + .seconds(1)
            }
            let due = Int((now - start).secondsAsDouble * Double(rate)) - scheduled
            scheduled += due
            if isHeldBack { state.withLock { $0.omitted += due } } else if due > 0 { try await publish(due) }
            try await clock.sleep(until: now + Self.tick)
        }
    }

    private func publish(_ count: Int) async throws {
        let first = events
        let range = first..<first + count
        try await testbed.publish(range, of: workload)
        let more = workload.expectation(for: range.lazy.map(workload.user(ofEvent:)))
        state.withLock { state in
            state.events = range.upperBound
            state.expected += more
        }
    }

    var isStopped: Bool { state.withLock(\.isStopped) }

    /// Ends `run` after the current portion.
    func stop() { state.withLock { $0.isStopped = true } }
}

extension Workload.Expectation {
    static func += (sum: inout Self, more: Self) {
        sum.pushes += more.pushes
        sum.endings.merge(more.endings, uniquingKeysWith: +)
    }
}
