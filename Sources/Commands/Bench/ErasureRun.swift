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

    func measure(on ground: BenchGround) async throws -> ErasureReport {
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
        return ErasureReport(
            events: half,
            erasures: erasures,
            before: before,
            after: after,
            machine: try await MachineDescription(ground, load: load),
            verification: try await ground.verification(of: whole, stub)
        )
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

/// What it came to.
struct ErasureReport: Sendable {
    let events: Int
    let erasures: Int
    /// Events a second.
    let before: Double
    let after: Double
    let machine: MachineDescription
    let verification: Verification

    private var ratio: Double { before > 0 ? after / before : 0 }

    var text: String {
        let verdict =
            verification.faults.isEmpty
            ? ["checked: nothing lost, nothing doubled"] : verification.faults.map { "WRONG: \($0)" }
        return
            ([
                "W1 before and after \(erasures) erasures: \(events) events each", machine.text, "",
                "events a second before".padding(to: 26) + before.text(digits: 0),
                "events a second after".padding(to: 26) + after.text(digits: 0),
                "ratio".padding(to: 26) + ratio.text(digits: 2), "",
            ] + verdict).joined(separator: "\n")
    }

    var json: JSONText {
        .object([
            ("workload", .text("erasures")), ("events", .number(events)), ("erasures", .number(erasures)),
            ("eventsPerSecondBefore", .decimal(before, digits: 1)),
            ("eventsPerSecondAfter", .decimal(after, digits: 1)), ("ratio", .decimal(ratio, digits: 3)),
            ("machine", machine.json), ("verification", verification.json),
        ])
    }
}
