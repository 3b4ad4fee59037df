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
    /// A program that replaces the workers, or `nil` for none.
    let peer: String?
    /// Reports progress.
    let say: @Sendable (String) -> Void

    /// Events before the measured ones, which the workers process first, so that their start is measured apart.
    private static let warmUp = 1_000

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let room = try await StorageRoom(for: stored, on: testbed)
        try room.require()
        let stub = try await PushStub.start(testbed, at: stub)
        say("seeding \(workload.users) users")
        try await testbed.seed(workload)
        if stored > 0 {
            say("storing \(stored) notifications of before: \(room.words)")
            try await testbed.store(stored, saying: say)
        }
        let peer = try await compared(on: testbed, stub)
        let warmUp = Self.warmUp
        let whole = workload.lasting(warmUp + workload.events)
        let end = try await testbed.ledger.mark()
        // While the pushes were compared, the server may have added empty pages to a peer's tables, several at a time.
        let beginning = peer == nil ? end : BenchmarkBook.Mark.beginning.from(end)
        say("starting \(crew), with \(warmUp) events")
        let children = try await testbed.startWorkers(
            workers,
            or: peer?.worker,
            warmedBy: warmUp,
            of: whole,
            since: beginning
        )
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
        let rooms = rooms(before.footprint, try await testbed.ledger.footprint())
        var verification = try await testbed.verification(of: whole, in: events, since: mark, stub, after: pushes)
        verification.others += peer?.faults ?? []
        let past = stored > 0 ? ", \(stored) notifications stored before" : ""
        let title = "W1: \(workload.events) events to \(workload.users) users, \(crew), seed \(workload.seed)\(past)"
        let figures = [
            .told("events", .int(workload.events)), .told("users", .int(workload.users)),
            .told("workers", .int(workers)), .told("stored", .int(stored)),
            .told("peer", self.peer.map(JSONValue.string) ?? .null),
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
        return BenchReport("W1", title, machine, figures + costs + rooms + memory, verification)
    }

    private var crew: String {
        if let peer { return "the peer \(peer)" }
        return workers == 1 ? "1 worker" : "\(workers) workers"
    }

    /// Returns the peer, if there is one, with the differences between its pushes and ours.
    private func compared(
        on testbed: Testbed,
        _ stub: PushStub
    ) async throws -> (worker: PeerWorker, faults: [String])? {
        guard let peer else { return nil }
        say("comparing the pushes of \(peer) with Bellhop's")
        let worker = try await PeerWorker(peer, on: testbed, stub)
        // Events that neither the warm-up nor the measurement contains.
        let further = workload.lasting(Self.warmUp + workload.events)
        let comparison = PushComparison(testbed: testbed, stub: stub, workload: further)
        return (worker, try await comparison.faults(of: worker))
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
