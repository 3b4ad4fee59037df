/// What a run of workload W1 came to.
struct ThroughputReport: Sendable {
    let workload: Workload
    let workers: Int
    /// From the first row to the last settled one.
    let seconds: Double
    /// From the start of the workers' processes to the last settled row.
    let secondsFromStart: Double
    /// Processor time of all workers, their start included.
    let workerSeconds: Double
    let others: ProcessorMeter.Reading
    /// Of the worker that needed most, in bytes.
    let peakMemory: Int
    let machine: MachineDescription
    let verification: Verification

    private var eventsPerSecond: Double { rate(workload.events) }
    private var pushesPerSecond: Double { rate(verification.expectedPushes) }

    private func rate(_ count: Int) -> Double { seconds > 0 ? Double(count) / seconds : 0 }

    private func perEvent(_ seconds: Double) -> Double { seconds * 1e6 / Double(max(1, workload.events)) }

    private var parts: [(name: String, seconds: Double?)] {
        [
            ("worker", workerSeconds), ("broker", others.broker), ("database", others.database), ("stub", others.stub),
        ]
    }

    var text: String {
        let costs = parts.map { part in
            let cost = part.seconds.map { perEvent($0).text(digits: 1) + " µs" } ?? "not visible from here"
            return "  \(part.name)".padding(to: 22) + cost
        }
        let verdict =
            verification.faults.isEmpty
            ? ["checked: nothing lost, nothing doubled"] : verification.faults.map { "WRONG: \($0)" }
        return
            ([
                "W1: \(workload.events) events to \(workload.users) users, \(workers) \(workers == 1 ? "worker" : "workers"), seed \(workload.seed)",
                machine.text, "",
                "events a second".padding(to: 22) + eventsPerSecond.text(digits: 0),
                "pushes a second".padding(to: 22) + pushesPerSecond.text(digits: 0),
                "seconds".padding(to: 22)
                    + "\(seconds.text(digits: 2)) (\(secondsFromStart.text(digits: 2)) with the start)",
                "processor time an event",
            ] + costs + [
                "peak memory, worker".padding(to: 22) + (Double(peakMemory) / 1e6).text(digits: 1) + " MB", "",
            ] + verdict).joined(separator: "\n")
    }

    var json: JSONText {
        .object([
            ("workload", .text("W1")), ("events", .number(workload.events)), ("users", .number(workload.users)),
            ("workers", .number(workers)), ("seed", .text(String(workload.seed))),
            ("eventsPerSecond", .decimal(eventsPerSecond, digits: 1)),
            ("pushesPerSecond", .decimal(pushesPerSecond, digits: 1)),
            ("seconds", .decimal(seconds, digits: 3)), ("secondsWithStart", .decimal(secondsFromStart, digits: 3)),
            (
                "microsecondsPerEvent",
                .object(
                    parts.map { part in
                        (part.name, part.seconds.map { .decimal(perEvent($0), digits: 2) } ?? .null)
                    }
                )
            ),
            ("peakWorkerBytes", .number(peakMemory)), ("machine", machine.json), ("verification", verification.json),
        ])
    }
}

extension String {
    /// With blanks up to a column.
    func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
