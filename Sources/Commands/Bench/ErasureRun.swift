import Foundation
import ServiceRuntime
import Store

/// Measures the same workers before and after many users have been erased, while the server's statistics still say that
/// nobody ever was.
///
/// What a worker asks about tombstones must cost the same however many there are, also by a plan that was made while there
/// were none.
struct ErasureRun: Sendable {
    /// Of one half; the other half follows from the same seed.
    let workload: Workload
    let workers: Int
    let erasures: Int
    /// Says what is going on; nothing where JSON is wanted.
    let say: @Sendable (String) -> Void

    /// Events before the measured ones: every connection has its plans by then.
    private static let warmUp = 2_000

    func measure(on ground: BenchGround) async throws -> BenchReport {
        let half = workload.events
        let whole = workload.lasting(Self.warmUp + 2 * half)
        let stub = try await PushStub.start(ground, at: nil)
        say("seeding \(whole.users) users")
        try await ground.seed(whole)
        try await ground.ledger.stopCountingTombstones()
        let children = try (1...workers).map {
            try ground.start([WorkerCommand.name, "--lanes", "normal"], log: "worker\($0)")
        }
        try await ground.publish(0..<Self.warmUp, of: whole)
        try await ground.awaitEnd(of: Self.warmUp, children)
        let load = ProcessTable.load()
        let before = try await drain(Self.warmUp..<Self.warmUp + half, of: whole, ground, children)
        say("erasing \(erasures) users")
        try await ground.erase(erasures)
        try await ground.awaitTombstones(erasures, children)
        let after = try await drain(Self.warmUp + half..<Self.warmUp + 2 * half, of: whole, ground, children)
        for child in children { await child.end() }
        let ratio = before > 0 ? after / before : 0
        return BenchReport(
            "erasures",
            "W1 before and after \(erasures) erasures: \(half) events each",
            try await MachineDescription(ground, load: load),
            [
                .told("events", .number(half)), .told("erasures", .number(erasures)),
                Self.rate("before", before, "eventsPerSecondBefore"), Self.rate("after", after, "eventsPerSecondAfter"),
                .both("ratio", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3)),
            ],
            try await ground.verification(of: whole, stub)
        )
    }

    private static func rate(_ when: String, _ rate: Double, _ name: String) -> BenchReport.Figure {
        .both("events a second \(when)", rate.text(digits: 0), name, .decimal(rate, digits: 1))
    }

    /// Fills the lane while the workers stand still, and says how many events a second they then take.
    ///
    /// They keep their connections, and with them their plans.
    private func drain(
        _ events: Range<Int>,
        of whole: Workload,
        _ ground: BenchGround,
        _ children: [BenchChild]
    ) async throws -> Double {
        say("publishing \(events.count) events")
        for child in children { child.send(SIGSTOP) }
        defer { for child in children { child.send(SIGCONT) } }
        try await ground.publish(events, of: whole)
        let start = SystemTime().now().microseconds
        say("draining")
        for child in children { child.send(SIGCONT) }
        try await ground.awaitEnd(of: events.upperBound, children)
        guard let span = try await ground.ledger.span(since: start) else { return 0 }
        return Double(events.count) * 1e6 / Double(max(1, span.lastSettled - span.firstRecorded))
    }
}
