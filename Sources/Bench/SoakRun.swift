import BellhopRules
import CLI
import Foundation
import Operations
import Roles
import ServiceRuntime
import Store

/// A soak: one worker under a constant load for hours, with the slopes of its memory, descriptors, disk and delay.
///
/// Timed urgent events accompany the load. Old notifications are deleted by Bellhop's retention, so that the tables stop
/// growing.
struct SoakRun: Sendable {
    let workload: Workload
    let length: Duration
    /// Events per second.
    let rate: Int
    let stop: SoakStop
    let say: @Sendable (String) -> Void

    private static let warmUp = 1_000
    /// Timed events per second: six hundred are enough for a percentile each minute.
    private static let timedRate = 10
    private static let mostLines = 30

    /// A minute, or less in a short soak.
    private var interval: Duration { max(.seconds(1), min(.seconds(60), length / 20)) }

    /// The age at which notifications are deleted.
    private var kept: Duration { max(.seconds(10), min(.seconds(600), length / 8)) }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let stub = try await PushStub.start(testbed, at: nil, noting: UrgentEvents.word)
        say("seeding \(workload.users) users")
        try await testbed.seed(workload)
        let worker = try testbed.start([WorkerCommand.name, "--lanes", "urgent,normal"], log: "worker1")
        try await testbed.publish(0..<Self.warmUp, of: workload)
        try await testbed.awaitEnd(of: Self.warmUp, [worker])
        let machineLoad = ProcessTable.load()
        let load = SteadyLoad(workload, from: Self.warmUp, rate, on: testbed)
        let urgent = UrgentEvents(workload, testbed)
        var expected = workload.expectation(for: (0..<Self.warmUp).lazy.map(workload.user(ofEvent:)))
        let start = SoakWatch(
            testbed,
            stub,
            worker,
            load,
            urgent,
            pushesBefore: expected.pushes,
            kept: kept
        )
        var watch = try await run(start)
        say("draining the rest")
        try await watch.finish()
        await worker.end()
        expected += load.expected
        expected.endings[.init(state: "delivered"), default: 0] += urgent.count
        expected.pushes += urgent.count
        let trends = SoakTrends(watch.samples)
        let verification = Verification(
            expectedEvents: load.events + urgent.count,
            notifications: watch.tally.notifications,
            distinctNotifications: watch.tally.distinctNotifications,
            expectedEndings: expected.endings,
            endings: watch.tally.endings,
            hasDeadLetters: try await testbed.hasDeadLetters(),
            expectedPushes: expected.pushes,
            pushes: try await stub.answered(),
            others: faults(watch, urgent) + trends.faults
        )
        return report(watch, trends, try await MachineDescription(testbed, load: machineLoad), verification)
    }

    /// Publishes and samples until the time is over or the end is requested.
    ///
    /// An error of any part ends the others.
    private func run(_ start: SoakWatch) async throws -> SoakWatch {
        stop.begin()
        say("\(rate) events per second for \(length.shortText), a sample every \(interval.shortText)")
        return try await withThrowingTaskGroup(of: SoakWatch?.self) { group in
            let (load, urgent) = (start.load, start.urgent)
            group.addTask {
                try await load.run { try await start.waiting() }
                return nil
            }
            group.addTask {
                try await urgent.publish(Self.timedRate) { _ in !load.isStopped }
                return nil
            }
            group.addTask {
                defer { load.stop() }
                return try await sampling(start)
            }
            var last = start
            while let part = try await group.next() { if let part { last = part } }
            return last
        }
    }

    private func sampling(_ start: SoakWatch) async throws -> SoakWatch {
        var watch = start
        let clock = ContinuousClock()
        let begin = clock.now
        var next = begin + interval
        while true {
            while clock.now < next, !stop.isRequested {
                try watch.worker.expectRunning()
                try await clock.sleep(until: min(next, clock.now + .milliseconds(200)))
            }
            // A part of an interval has too few events for a percentile, and is better than no sample.
            let isWhole = next - clock.now < interval / 2
            if isWhole || watch.samples.isEmpty {
                say(try await watch.sample(at: (clock.now - begin).secondsAsDouble).words)
            }
            let isOver = clock.now - begin >= length
            if isOver || stop.isRequested {
                watch.isEndedEarly = !isOver
                return watch
            }
            next = max(next + interval, clock.now)
        }
    }

    // MARK: - Report

    private func faults(_ watch: SoakWatch, _ urgent: UrgentEvents) -> [String] {
        var faults: [String] = []
        if urgent.outstanding > 0 { faults.append("\(urgent.outstanding) urgent pushes never arrived") }
        if watch.repeats > 0 { faults.append("\(watch.repeats) urgent pushes arrived more than once") }
        if watch.load.omitted > 0 {
            faults.append("\(watch.load.omitted) events were left out, because the worker was too slow for the rate")
        }
        return faults
    }

    private func report(
        _ watch: SoakWatch,
        _ trends: SoakTrends,
        _ machine: MachineDescription,
        _ verification: Verification
    ) -> BenchReport {
        let seconds = watch.samples.last?.seconds ?? 0
        let every = max(1, (watch.samples.count + Self.mostLines - 1) / Self.mostLines)
        let shown = watch.samples.enumerated().filter { ($0.offset + 1) % every == 0 }.map(\.element)
        var figures: [BenchReport.Figure] = [
            .told("users", .int(workload.users)), .told("rate", .int(rate)),
            .told("seconds", .decimal(seconds, digits: 1)), .told("endedEarly", .bool(watch.isEndedEarly)),
            .told("events", .int(verification.expectedEvents)), .told("deleted", .int(watch.deleted)),
            .told("samples", .array(watch.samples.map(\.json))), .shown(SoakSample.heading),
        ]
        figures += shown.map { .shown($0.line) }
        figures += [.shown(""), .shown("slopes, without the first quarter of the time")] + trends.figures
        figures += [
            .shown(""),
            .shown("events".padding(to: 26) + String(verification.expectedEvents)),
            .shown("deleted as it went".padding(to: 26) + "\(watch.deleted) notifications, after \(kept.shortText)"),
        ]
        let early = watch.isEndedEarly ? ", ended early" : ""
        let minutes = (seconds / 60).text(digits: 1)
        let title = "soak: one worker, \(rate) events per second for \(minutes) minutes\(early)"
        return BenchReport("soak", title, machine, figures, verification)
    }
}
