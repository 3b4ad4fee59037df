import BellhopRules
import Operations
import Roles
import ServiceRuntime
import Store

/// Measures a worker of all lanes that is connected and has nothing to do.
struct IdleRun: Sendable {
    /// Duration of the measurement.
    let watch: Duration

    func measure(on testbed: Testbed) async throws -> BenchReport {
        _ = try await PushStub.start(testbed, at: nil)
        // One event proves that the worker consumes and has opened its permanent connections.
        let workload = Workload(seed: 1, events: 1, users: 1, utcHour: 0)
        try await testbed.seed(workload)
        let worker = try testbed.start([WorkerCommand.name], log: "worker1")
        try await testbed.publish(0..<1, of: workload)
        while true {
            try worker.expectRunning()
            if try await testbed.ledger.notifications() == 1, try await testbed.ledger.isSettled() { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let process = Int(worker.identifier)
        let before = ProcessTable.processorTime(of: process)
        try await Task.sleep(for: watch)
        guard let memory = ProcessTable.memory(of: process), let before,
            let after = ProcessTable.processorTime(of: process)
        else {
            try worker.expectRunning()
            throw CommandFailure.kernelTellsNothing(of: "the worker")
        }
        await worker.end()
        let share = (after - before) / watch.secondsAsDouble
        let words = (share * 100).text(digits: 2) + " % of a core"
        return BenchReport(
            workload: "idle",
            title: "an idle worker of three lanes",
            machine: try await MachineDescription(testbed, load: ProcessTable.load()),
            figures: [
                .both("resident memory", memory.now.megabytes, "residentBytes", .int(memory.now)),
                .both("at its highest", memory.peak.megabytes, "peakBytes", .int(memory.peak)),
                .both("processor", words, "processorShare", .decimal(share, digits: 4)),
            ]
        )
    }
}

extension CommandFailure {
    /// Makes the failure for a process whose memory or processor time cannot be read.
    static func kernelTellsNothing(of process: String) -> CommandFailure {
        CommandFailure(
            .tryAgain,
            attempted: "reading what memory \(process) has",
            cameBack: "the kernel does not tell",
            whatToDo: "run it where /proc is mounted"
        )
    }
}
