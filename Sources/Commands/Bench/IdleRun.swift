import ServiceRuntime
import Store

/// Looks at a worker of all lanes that is connected and has nothing to do.
struct IdleRun: Sendable {
    /// How long it is watched.
    let watch: Duration

    func measure(on ground: BenchGround) async throws -> IdleReport {
        _ = try await PushStub.start(ground, at: nil)
        // One event proves that it consumes and has opened what it keeps open.
        let workload = Workload(seed: 1, events: 1, users: 1, utcHour: 0)
        try await ground.seed(workload)
        let worker = try ground.start([WorkerCommand.name], log: "worker1")
        try await ground.publish(0..<1, of: workload)
        while true {
            try worker.expectRunning()
            if try await ground.ledger.notifications() == 1, try await ground.ledger.isSettled() { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let process = Int(worker.identifier)
        let before = ProcessTable.processorTime(of: process)
        try await Task.sleep(for: watch)
        guard let memory = ProcessTable.memory(of: process), let before,
            let after = ProcessTable.processorTime(of: process)
        else {
            try worker.expectRunning()
            throw CommandFailure(
                .tryAgain,
                attempted: "reading the worker's memory",
                cameBack: "the kernel does not tell",
                whatToDo: "run it where /proc is mounted"
            )
        }
        await worker.end()
        return IdleReport(
            memory: memory.now,
            peakMemory: memory.peak,
            processorShare: (after - before) / watch.secondsAsDouble,
            machine: try await MachineDescription(ground, load: ProcessTable.load())
        )
    }
}

/// What an idle worker takes.
struct IdleReport: Sendable {
    /// Resident, in bytes.
    let memory: Int
    let peakMemory: Int
    /// Of one core.
    let processorShare: Double
    let machine: MachineDescription

    var text: String {
        [
            "an idle worker of three lanes", machine.text, "",
            "resident memory".padding(to: 22) + (Double(memory) / 1e6).text(digits: 1) + " MB",
            "at its highest".padding(to: 22) + (Double(peakMemory) / 1e6).text(digits: 1) + " MB",
            "processor".padding(to: 22) + (processorShare * 100).text(digits: 2) + " % of a core",
        ].joined(separator: "\n")
    }

    var json: JSONText {
        .object([
            ("workload", .text("idle")), ("residentBytes", .number(memory)), ("peakBytes", .number(peakMemory)),
            ("processorShare", .decimal(processorShare, digits: 4)), ("machine", machine.json),
        ])
    }
}
