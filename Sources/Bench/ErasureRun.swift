import BellhopRules
import Operations
import ServiceRuntime
import Store

/// Measures the same workers before and after many users have been erased, while the server's statistics still report
/// no tombstones.
///
/// A worker's query for tombstones must cost the same for any number of them, even with a query plan that was made
/// while there were none.
struct ErasureRun: Sendable {
    /// The workload of one half.
    ///
    /// The other half follows from the same seed.
    let workload: Workload
    let workers: Int
    let erasures: Int
    /// Reports progress.
    let say: @Sendable (String) -> Void

    /// Events before the measured ones, so that every connection has its query plans.
    private static let warmUp = 2_000

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let half = workload.events
        let whole = workload.lasting(Self.warmUp + 2 * half)
        let stub = try await PushStub.start(testbed, at: nil)
        say("seeding \(whole.users) users")
        try await testbed.seed(whole)
        try await testbed.ledger.stopCountingTombstones()
        let children = try await testbed.startWorkers(workers, warmedBy: Self.warmUp, of: whole)
        let load = ProcessTable.load()
        let before = try await drain(Self.warmUp..<Self.warmUp + half, of: whole, testbed, children)
        say("erasing \(erasures) users")
        try await testbed.erase(erasures)
        try await testbed.awaitTombstones(erasures, children)
        let after = try await drain(Self.warmUp + half..<Self.warmUp + 2 * half, of: whole, testbed, children)
        for child in children { await child.end() }
        let ratio = before > 0 ? after / before : 0
        return BenchReport(
            "erasures",
            "W1 before and after \(erasures) erasures: \(half) events each",
            try await MachineDescription(testbed, load: load),
            [
                .told("events", .int(half)), .told("erasures", .int(erasures)),
                Self.rate("before", before, "eventsPerSecondBefore"), Self.rate("after", after, "eventsPerSecondAfter"),
                .both("ratio", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3)),
            ],
            try await testbed.verification(of: whole, stub)
        )
    }

    private static func rate(_ when: String, _ rate: Double, _ name: String) -> BenchReport.Figure {
        .both("events per second \(when)", rate.text(digits: 0), name, .decimal(rate, digits: 1))
    }

    /// Returns the events per second that the workers process.
    private func drain(
        _ events: Range<Int>,
        of whole: Workload,
        _ testbed: Testbed,
        _ children: [BenchChild]
    ) async throws -> Double {
        say("publishing and draining \(events.count) events")
        return Double(events.count) / (try await testbed.drain(events, of: whole, children) {}.seconds)
    }
}
