import BellhopRules
import CLI
import Foundation
import Operations
import ServiceRuntime
import Store
import Synchronization

/// Workload W3: urgent events at a constant rate, from publication to arrival at the stub, first on an idle system and
/// then during W2.
///
/// The events go to followers of W2's topic, in the same app and through the same provider. The run therefore shows how
/// much a fan-out delays an urgent message, such as a theft warning.
struct UrgentRun: Sendable {
    let workload: Workload
    let workers: Int
    /// Urgent events per second.
    let rate: Int
    /// Duration of the measurement on the idle system, in seconds.
    let idleSeconds: Int
    let say: @Sendable (String) -> Void

    /// Events before the measured ones, so that connections, query plans and caches are warm.
    private static let warmUp = 100
    func measure(on testbed: Testbed) async throws -> BenchReport {
        let stub = try await PushStub.start(testbed, at: nil, noting: UrgentEvents.word)
        let fanout = try await FanoutRun(workload: workload, workers: workers, say: say).prepare(testbed)
        let load = ProcessTable.load()
        let mark = try await testbed.ledger.mark()
        let children = try fanout.startWorkers(workers)
        let events = UrgentEvents(workload, testbed)
        say("publishing \(rate) urgent events per second to an idle system")
        try await events.publish(rate) { $0 < Self.warmUp }
        let idleStart = events.count
        try await events.publish(rate) { $0 < idleStart + rate * idleSeconds }
        say("publishing them during one event to \(workload.users) followers")
        let idleEnd = events.count
        try await fanout.publish()
        let ended = Atomic<Bool>(false)
        async let standing = fanout.awaitEnd(since: mark, children, then: { ended.store(true, ordering: .relaxed) })
        try await events.publish(rate) { _ in !ended.load(ordering: .relaxed) }
        let length = try await standing
        try await events.awaitArrivals(at: stub, children)
        let arrivals = try await stub.noted()
        for child in children { await child.end() }
        let faults = events.faults(arrivals)
        let verification = try await fanout.verification(
            since: mark,
            stub,
            others: events.count,
            faults: faults
        )
        let delays = events.delays(arrivals)
        return report(
            idle: UrgentDelays(delays, idleStart..<idleEnd),
            under: UrgentDelays(delays, idleEnd..<events.count),
            length,
            try await MachineDescription(testbed, load: load),
            verification
        )
    }

    private func report(
        idle: UrgentDelays,
        under: UrgentDelays,
        _ standing: BenchmarkFanoutBook.Standing,
        _ machine: MachineDescription,
        _ verification: Verification
    ) -> BenchReport {
        let ratio = idle.p99 > 0 ? under.p99 / idle.p99 : 0
        let seconds = Double((standing.finishedAt ?? standing.startedAt) - standing.startedAt) / 1e6
        let pushes = workload.isMuted ? "off" : "on"
        return BenchReport(
            "W3",
            "W3: \(rate) urgent events per second during W2 (\(workload.users) followers, pushes \(pushes))",
            machine,
            [
                .told("followers", .int(workload.users)), .told("workers", .int(workers)),
                .told("rate", .int(rate)), .told("pushes", .string(pushes)),
                .both("idle", idle.words, "idle", idle.json),
                .both("under the fan-out", under.words, "underFanout", under.json),
                .both("ratio of p99", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3)),
                .both("the fan-out, seconds", seconds.text(digits: 2), "fanoutSeconds", .decimal(seconds, digits: 3)),
            ],
            verification
        )
    }
}
