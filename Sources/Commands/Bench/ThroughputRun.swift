import Foundation
import ServiceRuntime
import Store

/// Drains a preloaded lane with one or more workers and measures what it takes.
struct ThroughputRun: Sendable {
    let workload: Workload
    let workers: Int
    let stub: PushStub.Place?
    /// Says what is going on; nothing where JSON is wanted.
    let say: @Sendable (String) -> Void

    func measure(on ground: BenchGround) async throws -> ThroughputReport {
        let stub = try await PushStub.start(ground, at: stub)
        say("seeding \(workload.users) users")
        try await ground.seed(workload)
        say("publishing \(workload.events) events")
        try await ground.publish(0..<workload.events, of: workload)
        let meter = try await ProcessorMeter(ground, stub: stub)
        let load = ProcessTable.load()
        say("draining with \(workers) \(workers == 1 ? "worker" : "workers")")
        let before = meter.read()
        let clock = SystemTime()
        let started = clock.now()
        let children = try (1...workers).map {
            try ground.start([WorkerCommand.name, "--lanes", "normal"], log: "worker\($0)")
        }
        try await ground.awaitEnd(of: workload.events, children)
        let used = meter.read() - before
        let worker = children.compactMap { ProcessTable.processorTime(of: Int($0.identifier)) }
        let peaks = children.compactMap { ProcessTable.memory(of: Int($0.identifier))?.peak }
        guard let span = try await ground.ledger.span(), worker.count == workers, peaks.count == workers else {
            throw CommandFailure(
                .tryAgain,
                attempted: "reading what the run has used",
                cameBack: "a worker is gone",
                whatToDo: "run it again"
            )
        }
        for child in children { await child.end() }
        return ThroughputReport(
            workload: workload,
            workers: workers,
            seconds: Double(span.lastSettled - span.firstRecorded) / 1e6,
            secondsFromStart: Double(span.lastSettled - started.microseconds) / 1e6,
            workerSeconds: worker.reduce(0, +),
            others: used,
            peakMemory: peaks.max() ?? 0,
            machine: try await MachineDescription(ground, load: load),
            verification: try await ground.verification(of: workload, stub)
        )
    }
}
