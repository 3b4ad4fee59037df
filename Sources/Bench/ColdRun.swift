import BellhopRules
import Operations
import ServiceRuntime
import Store

/// Measures W1 with devices that no push has reached before (cold), then with the same devices again (warm), by the same
/// workers.
///
/// The first accepted push to a device is recorded, so that a cold event costs more than a warm one.
struct ColdRun: Sendable {
    /// The events of one half.
    let events: Int
    let seed: UInt64
    let utcHour: Int
    let workers: Int
    /// Reports progress.
    let say: @Sendable (String) -> Void

    private static let warmUp = 1_000

    /// Each half has one event for each user of the first half.
    private var workload: Workload {
        let users = Self.warmUp + events
        var workload = Workload(seed: seed, events: users + events, users: users, utcHour: utcHour)
        workload.isInTurn = true
        workload.areDevicesReached = false
        return workload
    }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let whole = workload
        let stub = try await PushStub.start(testbed, at: nil)
        say("seeding \(whole.users) users")
        try await testbed.seed(whole)
        let children = try await testbed.startWorkers(workers, warmedBy: Self.warmUp, of: whole)
        let meter = try await ProcessorMeter(testbed, stub: stub)
        let load = ProcessTable.load()
        let middle = Self.warmUp + events
        let cold = try await half("cold", Self.warmUp..<middle, of: whole, testbed, children, meter)
        let warm = try await half("warm", middle..<middle + events, of: whole, testbed, children, meter)
        for child in children { await child.end() }
        let ratio = cold.rate / warm.rate
        return BenchReport(
            "cold",
            "W1 to devices that were never reached (cold), and again (warm): \(events) events each, seed \(seed)",
            try await MachineDescription(testbed, load: load),
            [.told("events", .int(events)), .told("workers", .int(workers)), .told("seed", .string(String(seed)))]
                + cold.figures + warm.figures
                + [.both("cold divided by warm", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3))],
            try await testbed.verification(of: whole, stub)
        )
    }

    private func half(
        _ name: String,
        _ events: Range<Int>,
        of whole: Workload,
        _ testbed: Testbed,
        _ children: [BenchChild],
        _ meter: ProcessorMeter
    ) async throws -> Half {
        say("draining \(events.count) \(name) events")
        let drained = try await testbed.drain(events, of: whole, children) {
            (
                worker: try testbed.processorTime(of: children), database: meter.read().database,
                log: try await testbed.ledger.footprint().log
            )
        }
        let (before, after) = (drained.before, drained.after)
        let count = Double(events.count)
        return Half(
            name: name,
            rate: count / drained.seconds,
            worker: (after.worker - before.worker) * 1e6 / count,
            database: before.database.flatMap { start in after.database.map { ($0 - start) * 1e6 / count } },
            log: Double(after.log - before.log) / count
        )
    }
}

/// The figures of one half; costs are per event, times in microseconds of processor time.
private struct Half {
    let name: String
    let rate: Double
    let worker: Double
    /// `nil` if the server's processes are not visible.
    let database: Double?
    /// Bytes of the write-ahead log.
    let log: Double

    var figures: [BenchReport.Figure] {
        let database = database.map { "\($0.text(digits: 1)) µs" } ?? "not visible"
        let words =
            "\(rate.text(digits: 0)) events/s, worker \(worker.text(digits: 1)) µs, database \(database), "
            + "log \(log.text(digits: 0)) bytes an event"
        let members: [(String, JSONValue)] = [
            ("eventsPerSecond", .decimal(rate, digits: 1)), ("workerMicroseconds", .decimal(worker, digits: 2)),
            ("databaseMicroseconds", self.database.map { .decimal($0, digits: 2) } ?? .null),
            ("walBytes", .decimal(log, digits: 1)),
        ]
        return [.both(name, words, name, .members(members))]
    }
}
