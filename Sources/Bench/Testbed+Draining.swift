import BellhopRules
import Foundation
import Roles
import ServiceRuntime
import Store

/// Workers that drain a lane that was filled while they were stopped.
extension Testbed {
    /// Starts workers of the normal lane, or a peer in their place, and waits until they have processed the workload's
    /// first events.
    ///
    /// Then all of their connections exist and have their query plans.
    func startWorkers(
        _ count: Int,
        or peer: PeerWorker? = nil,
        warmedBy events: Int,
        of workload: Workload,
        since mark: BenchmarkBook.Mark = .beginning
    ) async throws -> [BenchChild] {
        let children =
            if let peer { [try await peer.start(on: self)] } else {
                try (1...count).map { try start([WorkerCommand.name, "--lanes", "normal"], log: "worker\($0)") }
            }
        try await publish(0..<events, of: workload)
        try await awaitEnd(of: events, since: mark, children)
        return children
    }

    /// Fills the lane while the workers are stopped, lets them drain it, and returns the seconds from the first recorded
    /// event to the last settled delivery, with a reading from before and one from after that.
    ///
    /// The stopped workers keep their connections, and with them their query plans.
    func drain<Reading>(
        _ events: Range<Int>,
        of workload: Workload,
        since mark: BenchmarkBook.Mark = .beginning,
        _ children: [BenchChild],
        reading: () async throws -> Reading
    ) async throws -> (seconds: Double, before: Reading, after: Reading) {
        for child in children { child.send(SIGSTOP) }
        defer { for child in children { child.send(SIGCONT) } }
        try await publish(events, of: workload)
        let before = try await reading()
        let start = SystemTime().now().microseconds
        for child in children { child.send(SIGCONT) }
        try await awaitEnd(of: events.upperBound, since: mark, children)
        let after = try await reading()
        guard let span = try await ledger.span(since: start) else { throw CommandFailure.workerIsGone }
        return (Double(max(1, span.lastSettled - span.firstRecorded)) / 1e6, before, after)
    }

    /// Returns the processor time of the workers so far, in seconds.
    func processorTime(of children: [BenchChild]) throws -> Double {
        try children.reduce(0) { sum, child in
            guard let time = ProcessTable.processorTime(of: Int(child.identifier)) else {
                throw CommandFailure.workerIsGone
            }
            return sum + time
        }
    }
}

extension CommandFailure {
    static let workerIsGone = CommandFailure(
        .tryAgain,
        attempted: "reading what the run has used",
        cameBack: "a worker is gone",
        whatToDo: "run it again"
    )
}
