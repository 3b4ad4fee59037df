import BellhopRules
import CLI
import Operations
import Roles
import ServiceRuntime
import Store

/// Publishes single events to an otherwise idle system, and polls for their rows.
struct LatencyRun: Sendable {
    let workload: Workload
    /// Events per second, or fewer if an event takes longer than its interval.
    let rate: Int

    /// Events before the measured ones, so that connections, query plans and caches are warm.
    private static let warmUp = 50

    func measure(on testbed: Testbed) async throws -> BenchReport {
        _ = try await PushStub.start(testbed, at: nil)
        try await testbed.seed(workload)
        let worker = try testbed.start([WorkerCommand.name], log: "worker1")
        let load = ProcessTable.load()
        var samples: [Double] = []
        let clock = ContinuousClock()
        var turn = clock.now
        for event in 0..<(workload.events + Self.warmUp) {
            let took = try await time(event, testbed, worker)
            if event >= Self.warmUp { samples.append(took.secondsAsDouble * 1e3) }
            turn = max(turn.advanced(by: .seconds(1) / rate), clock.now)
            try await clock.sleep(until: turn)
        }
        await worker.end()
        let sorted = samples.sorted()
        let quantiles = [("median", 0.5, "median"), ("p90", 0.9, "p90"), ("p99", 0.99, "p99"), ("slowest", 1, "max")]
            .map {
                (label: $0, value: Quantile.of(sorted, $1), name: $2)
            }
        let lines = quantiles.map {
            BenchReport.Figure.shown("  \($0.label)".padding(to: 26) + $0.value.text(digits: 2) + " ms")
        }
        let members = quantiles.map { ($0.name, JSONValue.decimal($0.value, digits: 3)) }
        return BenchReport(
            workload: "latency",
            title: "published to committed: \(workload.events) events, \(rate) per second",
            machine: try await MachineDescription(testbed, load: load),
            figures: [
                .told("events", .int(workload.events)), .told("rate", .int(rate)),
                .told("milliseconds", .members(members)),
            ] + lines
        )
    }

    /// Measures from before the publication until another connection can see the row.
    ///
    /// The time includes the commit and one query, so the result is a fraction of a millisecond too high.
    private func time(_ event: Int, _ testbed: Testbed, _ worker: BenchChild) async throws -> Duration {
        let clock = ContinuousClock()
        guard let key = key(of: event) else { return .zero }
        let started = clock.now
        async let published: Void = testbed.publish(event..<event + 1, of: workload)
        while !(try await testbed.ledger.isRecorded(key)) {
            guard clock.now - started < .seconds(60) else {
                try worker.expectRunning()
                throw CommandFailure(
                    .answerIsNo,
                    attempted: "waiting for a row",
                    cameBack: "none came in a minute",
                    whatToDo: "run it with --keep and read the worker's log in \(testbed.folder)"
                )
            }
            try await Task.sleep(for: .microseconds(200))
        }
        let took = clock.now - started
        try await published
        return took
    }

    private func key(of event: Int) -> NotificationKey? {
        guard let app = AppID(validating: Workload.appName), let id = EventID(validating: workload.id(ofEvent: event)),
            let user = UserID(validating: Workload.name(of: workload.user(ofEvent: event)))
        else { return nil }
        return NotificationKey(
            recipient: UserKey(app: app, user: user),
            notification: NotificationID(app: app, event: id, user: user)
        )
    }
}

enum Quantile {
    /// Returns the value that the given share of the sorted samples does not exceed.
    static func of(_ sorted: [Double], _ share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let position = Int((Double(sorted.count) * share).rounded(.up)) - 1
        return sorted[min(max(0, position), sorted.count - 1)]
    }
}
