import BellhopRules
import CLI
import Foundation
import Operations
import Roles
import ServiceRuntime
import Store

/// Workload W7: one worker under full load, in phases, while something else disturbs the servers in each.
///
/// The normal lane always has events waiting. Urgent events at a constant rate show how long an important push takes
/// meanwhile.
struct PhasesRun: Sendable {
    let workload: Workload
    /// Duration of one phase.
    let seconds: Double
    /// Notifications that are stored before the phase with many rows; without any, there is no such phase.
    let stored: Int
    /// Urgent events per second.
    let rate: Int
    let say: @Sendable (String) -> Void

    private static let warmUp = 1_000
    /// The pause between two phases, so that a phase does not pay for the one before.
    private static let pause: Duration = .seconds(3)

    /// The readings of one phase.
    private struct Phase {
        let disturbance: Disturbance
        let pushesPerSecond: Double
        let urgent: Range<Int>
        let deadRows: Int
        let logBytes: Int64
        let pushes: Int
        /// The events for which the worker's sessions waited, with their shares, the largest first.
        let waits: [(event: String, share: Double)]
    }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let room = try await StorageRoom(for: stored, on: testbed)
        try room.require()
        let stub = try await PushStub.start(testbed, at: nil, noting: UrgentEvents.word)
        say("seeding \(workload.users) users")
        try await testbed.seed(workload)
        let mark = try await testbed.ledger.mark()
        // The name distinguishes this worker's sessions from those of other workers of the server.
        let sessions = testbed.names.namespace.description
        let worker = try testbed.start(
            [WorkerCommand.name, "--lanes", "urgent,normal"],
            log: "worker1",
            with: ["PGAPPNAME": sessions]
        )
        try await testbed.publish(0..<Self.warmUp, of: workload)
        try await testbed.awaitEnd(of: Self.warmUp, since: mark, [worker])
        let load = ProcessTable.load()
        let urgent = UrgentEvents(workload, testbed)
        let filler = LaneFiller(workload, from: Self.warmUp, on: testbed, stub, urgent: urgent)
        async let filling: Void = filler.run()
        let phases: [Phase]
        do {
            phases = try await measureAll(on: testbed, stub, urgent, sessions) {
                say("storing \(stored) notifications: \(room.words)")
                // At full load, the worker would take half of the server meanwhile, and millions of events.
                try await filler.paused { try await testbed.store(stored, saying: say) }
                try await testbed.server.checkpoint()
            }
        } catch {
            filler.stop()
            throw error
        }
        filler.stop()
        try await filling
        say("draining the rest")
        try await testbed.awaitEnd(of: filler.events + urgent.count, since: mark, [worker])
        try await urgent.awaitArrivals(at: stub, [worker])
        await worker.end()
        let delays = urgent.delays(try await stub.noted())
        let expected = expectation(of: filler.events, urgent.count)
        let pushes = try await stub.answered() ?? 0
        let repeated = max(0, pushes - expected.pushes)
        let verification = Verification(
            expectedEvents: filler.events + urgent.count,
            notifications: try await testbed.ledger.notifications(since: mark),
            distinctNotifications: try await testbed.ledger.distinctEvents(since: mark),
            expectedEndings: expected.endings,
            endings: try await testbed.ledger.endings(since: mark),
            hasDeadLetters: try await testbed.hasDeadLetters(),
            expectedPushes: expected.pushes,
            // A push whose session ends before its settlement may be repeated; it is counted, and not an error.
            pushes: pushes - repeated,
            others: delays.contains(nil) ? ["\(delays.count { $0 == nil }) urgent pushes never arrived"] : []
        )
        let machine = try await MachineDescription(testbed, load: load)
        return report(phases, delays, filler.events, repeated, machine, verification)
    }

    private func measureAll(
        on testbed: Testbed,
        _ stub: PushStub,
        _ urgent: UrgentEvents,
        _ sessions: String,
        storing store: () async throws -> Void
    ) async throws -> [Phase] {
        var phases: [Phase] = []
        for disturbance in Disturbance.allCases where disturbance != .rows || stored > 0 {
            if disturbance == .rows { try await store() }
            say(disturbance.words)
            try await Task.sleep(for: Self.pause)
            phases.append(try await measure(disturbance, on: testbed, stub, urgent, sessions))
        }
        return phases
    }

    private func measure(
        _ disturbance: Disturbance,
        on testbed: Testbed,
        _ stub: PushStub,
        _ urgent: UrgentEvents,
        _ sessions: String
    ) async throws -> Phase {
        let clock = ContinuousClock()
        let (first, before) = (urgent.count, try await testbed.server.gauges())
        let (start, pushes) = (clock.now, try await stub.answered() ?? 0)
        let end = start + .seconds(seconds)
        async let disturbed: Void = disturbance.run(on: testbed, for: seconds, workers: sessions)
        async let waits = Self.waits(of: sessions, on: testbed, until: end)
        try await urgent.publish(rate) { _ in clock.now < end }
        let done = (try await stub.answered() ?? 0) - pushes
        let took = (clock.now - start).secondsAsDouble
        let after = try await testbed.server.gauges()
        let shares = try await waits
        try await disturbed
        return Phase(
            disturbance: disturbance,
            pushesPerSecond: Double(done) / took,
            urgent: first..<urgent.count,
            deadRows: after.deadRows,
            logBytes: after.log - before.log,
            pushes: done,
            waits: shares
        )
    }

    /// Samples what the worker's sessions wait for.
    private static func waits(
        of sessions: String,
        on testbed: Testbed,
        until end: ContinuousClock.Instant
    ) async throws -> [(event: String, share: Double)] {
        let clock = ContinuousClock()
        var counts: [String: Int] = [:]
        while clock.now < end {
            for wait in try await testbed.server.waits(of: sessions) { counts[wait, default: 0] += 1 }
            try await clock.sleep(for: .milliseconds(100))
        }
        let sum = Double(max(1, counts.values.reduce(0, +)))
        return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, Double($0.value) / sum) }
    }

    /// Returns the result of the events of the normal lane and of the urgent events, each of which is one push.
    private func expectation(of events: Int, _ urgent: Int) -> Workload.Expectation {
        var expected = workload.expectation(for: (0..<events).lazy.map(workload.user(ofEvent:)))
        expected.endings[.init(state: "delivered"), default: 0] += urgent
        expected.pushes += urgent
        return expected
    }

    private func report(
        _ phases: [Phase],
        _ delays: [Double?],
        _ events: Int,
        _ repeated: Int,
        _ machine: MachineDescription,
        _ verification: Verification
    ) -> BenchReport {
        let rows = figures(
            of: phases,
            delays,
            eventsPerPush: Double(events) / Double(max(1, verification.expectedPushes))
        )
        let best = rows.map(\.eventsPerSecond).max() ?? 0
        let worst = rows.map(\.eventsPerSecond).min() ?? 0
        let ratio = best > 0 ? worst / best : 0
        var figures: [BenchReport.Figure] = [
            .told("users", .int(workload.users)), .told("seconds", .decimal(seconds, digits: 1)),
            .told("stored", .int(stored)), .told("rate", .int(rate)), .told("events", .int(events)),
            .shown(PhaseFigures.heading),
        ]
        figures += rows.map { .shown($0.line) }
        figures += [
            .told("phases", .array(rows.map(\.json))),
            .shown(""), .both("worst phase to best", ratio.text(digits: 2), "ratio", .decimal(ratio, digits: 3)),
            .both("repeated pushes", String(repeated), "repeatedPushes", .int(repeated)),
        ]
        let title = "W7: one worker under full load in \(phases.count) phases of \(seconds.text(digits: 0)) s"
        var report = BenchReport("W7", title, machine, figures, verification)
        let conditions =
            "Workload W7, \(seconds.text(digits: 0)) s each, \(events.grouped) events in all, "
            + machine.shortText
        report.chart = PhasesChart(phases: rows, stored: stored, conditions: conditions).svg
        return report
    }

    private func figures(of phases: [Phase], _ delays: [Double?], eventsPerPush: Double) -> [PhaseFigures] {
        let first = phases.first?.pushesPerSecond ?? 0
        return phases.map { phase in
            PhaseFigures(
                disturbance: phase.disturbance,
                eventsPerSecond: phase.pushesPerSecond * eventsPerPush,
                share: first > 0 ? phase.pushesPerSecond / first : 0,
                urgent: UrgentDelays(delays, phase.urgent),
                deadRows: phase.deadRows,
                logBytesPerEvent: Double(phase.logBytes) / max(1, Double(phase.pushes) * eventsPerPush),
                waits: phase.waits
            )
        }
    }
}
