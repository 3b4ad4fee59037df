import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Store

/// Drains a filled lane with one or more workers and measures what it takes.
struct ThroughputRun: Sendable {
    let workload: Workload
    let workers: Int
    /// Number of older notifications in the tables.
    let stored: Int
    let stub: PushStub.Place?
    /// Reports progress.
    let say: @Sendable (String) -> Void

    /// Events before the measured ones, which the workers process first, so that their start is measured apart.
    private static let warmUp = 1_000

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let stub = try await PushStub.start(testbed, at: stub)
        say("seeding \(workload.users) users")
        try await testbed.seed(workload)
        if stored > 0 {
            say("storing \(stored) notifications of before")
            try await testbed.store(stored)
        }
        let warmUp = Self.warmUp
        let whole = workload.lasting(warmUp + workload.events)
        let beginning = try await testbed.ledger.mark()
        say("starting \(workers) \(workers == 1 ? "worker" : "workers"), with \(warmUp) events")
        let children = try await testbed.startWorkers(workers, warmedBy: warmUp, of: whole, since: beginning)
        let start = try testbed.processorTime(of: children)
        let meter = try await ProcessorMeter(testbed, stub: stub)
        let load = ProcessTable.load()
        let mark = beginning.from(try await testbed.ledger.mark())
        let pushes = try await stub.answered() ?? 0
        say("publishing and draining \(workload.events) events")
        let events = warmUp..<whole.events
        let drained = try await testbed.drain(events, of: whole, since: beginning, children) {
            (
                worker: try testbed.processorTime(of: children), others: meter.read(),
                footprint: try await testbed.ledger.footprint()
            )
        }
        let (seconds, before, after) = drained
        let peaks = children.compactMap { ProcessTable.memory(of: Int($0.identifier))?.peak }
        guard peaks.count == workers else { throw CommandFailure.workerIsGone }
        for child in children { await child.end() }
        let room = rooms(before.footprint, try await testbed.ledger.footprint())
        let verification = try await testbed.verification(of: whole, in: events, since: mark, stub, after: pushes)
        let crew = workers == 1 ? "1 worker" : "\(workers) workers"
        let past = stored > 0 ? ", \(stored) notifications stored before" : ""
        let title = "W1: \(workload.events) events to \(workload.users) users, \(crew), seed \(workload.seed)\(past)"
        let figures = [
            .told("events", .int(workload.events)), .told("users", .int(workload.users)),
            .told("workers", .int(workers)), .told("stored", .int(stored)),
            .told("seed", .string(String(workload.seed))),
            Self.rate("events per second", workload.events, seconds, "eventsPerSecond"),
            Self.rate("pushes per second", verification.expectedPushes, seconds, "pushesPerSecond"),
            .both("seconds", seconds.text(digits: 2), "seconds", .decimal(seconds, digits: 3)),
            .both(
                "start",
                "\((start * 1e3).text(digits: 0)) ms of processor time, the workers and \(warmUp) events",
                "startProcessorMilliseconds",
                .decimal(start * 1e3, digits: 1)
            ),
        ]
        let peak = peaks.max() ?? 0
        let memory = [BenchReport.Figure.both("peak memory, worker", peak.megabytes, "peakWorkerBytes", .int(peak))]
        let machine = try await MachineDescription(testbed, load: load)
        let costs = costs(after.worker - before.worker, after.others - before.others)
        return BenchReport("W1", title, machine, figures + costs + room + memory, verification)
    }

    /// Returns the bytes per event on disk and in the write-ahead log, and the pages touched per event.
    private func rooms(_ before: BenchmarkBook.Footprint, _ after: BenchmarkBook.Footprint) -> [BenchReport.Figure] {
        let events = Double(max(1, workload.events))
        return [
            ("disk", "bytes", "diskBytesPerEvent", after.disk - before.disk),
            ("log", "bytes", "walBytesPerEvent", after.log - before.log),
            ("touched", "pages", "pagesPerEvent", after.pages - before.pages),
        ].map { label, unit, name, value in
            let each = Double(value) / events
            return .both("\(label) an event", "\(each.text(digits: 0)) \(unit)", name, .decimal(each, digits: 1))
        }
    }

    private static func rate(_ label: String, _ count: Int, _ seconds: Double, _ name: String) -> BenchReport.Figure {
        let rate = seconds > 0 ? Double(count) / seconds : 0
        return .both(label, rate.text(digits: 0), name, .decimal(rate, digits: 1))
    }

    /// Returns the processor time per event, for all processes of the run.
    ///
    /// `worker` is the time of all workers, without their start.
    private func costs(_ worker: Double, _ others: ProcessorMeter.Reading) -> [BenchReport.Figure] {
        let parts = [
            ("worker", worker), ("broker", others.broker), ("database", others.database), ("stub", others.stub),
        ].map { name, seconds in (name, seconds.map { $0 * 1e6 / Double(max(1, workload.events)) }) }
        let lines = parts.map { name, cost in
            let words = cost.map { "\($0.text(digits: 1)) µs" } ?? "not visible from here"
            return BenchReport.Figure.shown("  \(name)".padding(to: 26) + words)
        }
        let members = parts.map { name, cost in (name, cost.map { JSONValue.decimal($0, digits: 2) } ?? .null) }
        return [.shown("processor time an event")] + lines + [.told("microsecondsPerEvent", .members(members))]
    }
}
