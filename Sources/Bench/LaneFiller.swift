import ServiceRuntime
import Synchronization

/// Keeps a bounded number of events in front of the workers, so that they never wait and no queue grows.
final class LaneFiller: Sendable {
    /// The pushes that may be outstanding: about a second of work.
    private static let window = 8_000
    private static let portion = 1_000

    private struct State {
        var events: Int
        var pushes = 0
        var isStopped = false
        var isPaused = false
    }

    private let workload: Workload
    private let testbed: Testbed
    private let stub: PushStub
    private let urgent: UrgentEvents
    private let state: Mutex<State>

    /// Publishes the workload's events from the number `start` on.
    init(_ workload: Workload, from start: Int, on testbed: Testbed, _ stub: PushStub, urgent: UrgentEvents) {
        self.workload = workload
        self.testbed = testbed
        self.stub = stub
        self.urgent = urgent
        state = Mutex(State(events: start))
    }

    /// The number of the next event.
    var events: Int { state.withLock(\.events) }

    /// Publishes until it is stopped.
    func run() async throws {
        let before = try await answered()
        while !state.withLock(\.isStopped) {
            let done = try await answered() - before - urgent.count
            guard state.withLock({ !$0.isPaused && $0.pushes - done < Self.window }) else {
                try await Task.sleep(for: .milliseconds(20))
                continue
            }
            let start = events
            let portion = start..<start + Self.portion
            try await testbed.publish(portion, of: workload)
            let pushes = workload.expectation(for: portion.lazy.map(workload.user(ofEvent:))).pushes
            state.withLock { state in
                state.events = portion.upperBound
                state.pushes += pushes
            }
        }
    }

    /// Publishes nothing while the body runs, except for the current portion.
    func paused<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        state.withLock { $0.isPaused = true }
        defer { state.withLock { $0.isPaused = false } }
        return try await body()
    }

    /// Ends `run` after the current portion.
    func stop() { state.withLock { $0.isStopped = true } }

    private func answered() async throws -> Int { try await stub.answered() ?? 0 }
}
