import BellhopRules
import CLI
import Operations
import Roles
import ServiceRuntime
import Store

/// Publishes single events to an otherwise idle system, and polls for their rows.
///
/// A peer, if given, processes other events of the same workload in alternation with the worker.
struct LatencyRun: Sendable {
    let workload: Workload
    /// Events per second, or fewer if an event takes longer than its interval.
    let rate: Int
    /// The peer's program, or `nil` for none.
    let peer: String?
    /// Reports progress.
    let say: @Sendable (String) -> Void

    /// Events at the beginning of a turn that are not measured, so that connections, query plans and caches are warm.
    private static let warmUp = 50

    /// A program that processes the events, with the tables that it writes.
    private struct Program: Sendable {
        let name: String
        let ledger: BenchmarkBook
        let start: @Sendable () async throws -> BenchChild
    }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        let stub = try await PushStub.start(testbed, at: nil)
        try await testbed.seed(workload)
        let programs = try await programs(testbed, stub)
        let load = ProcessTable.load()
        var delays = programs.map { LatencyDelays(program: $0.name) }
        var events = 0..<workload.events + Self.warmUp
        // Without a peer there is nothing to alternate with.
        for turn in 0..<(peer == nil ? 1 : Self.turns) {
            // The programs take the first place of a turn alternately.
            for place in programs.indices.map({ ($0 + turn) % programs.count }) {
                if peer != nil { say("\(programs[place].name), turn \(turn + 1)") }
                delays[place].turns.append(try await times(of: events, programs[place], testbed))
                events = events.upperBound..<events.upperBound + events.count
            }
        }
        return report(delays, try await MachineDescription(testbed, load: load))
    }

    private static let turns = 3

    private func programs(_ testbed: Testbed, _ stub: PushStub) async throws -> [Program] {
        let own = Program(name: "Bellhop", ledger: testbed.ledger(of: .own)) {
            try testbed.start([WorkerCommand.name], log: "worker1")
        }
        guard let peer else { return [own] }
        var worker = try await PeerWorker(peer, on: testbed, stub)
        // No event comes soon enough to share a batch with another.
        worker.patience = 0
        return [
            own,
            Program(name: "peer", ledger: testbed.ledger(of: .peer)) { [worker] in
                try await worker.start(on: testbed)
            },
        ]
    }

    /// Returns the milliseconds that each event takes from its publication until its row is visible, without the first
    /// events.
    private func times(
        of events: Range<Int>,
        _ program: Program,
        _ testbed: Testbed
    ) async throws -> [Double] {
        let process = try await program.start()
        var samples: [Double] = []
        let clock = ContinuousClock()
        var turn = clock.now
        for event in events {
            let took = try await time(event, program.ledger, process, testbed)
            if event >= events.lowerBound + Self.warmUp { samples.append(took.secondsAsDouble * 1e3) }
            turn = max(turn.advanced(by: .seconds(1) / rate), clock.now)
            try await clock.sleep(until: turn)
        }
        await process.end()
        return samples
    }

    /// Measures from before the publication until another connection can see the row.
    ///
    /// The time includes the commit and one query, so the result is a fraction of a millisecond too high.
    private func time(
        _ event: Int,
        _ ledger: BenchmarkBook,
        _ process: BenchChild,
        _ testbed: Testbed
    ) async throws -> Duration {
        let clock = ContinuousClock()
        let (id, user) = (workload.id(ofEvent: event), Workload.name(of: workload.user(ofEvent: event)))
        let started = clock.now
        async let published: Void = testbed.publish(event..<event + 1, of: workload)
        while !(try await ledger.isRecorded(id, of: user, in: Workload.appName)) {
            guard clock.now - started < .seconds(60) else {
                try process.expectRunning()
                throw CommandFailure(
                    .answerIsNo,
                    attempted: "waiting for a row",
                    cameBack: "none came in a minute",
                    whatToDo: "run it with --keep and read the log of the process in \(testbed.folder)"
                )
            }
            try await Task.sleep(for: .microseconds(200))
        }
        let took = clock.now - started
        try await published
        return took
    }

    private func report(_ delays: [LatencyDelays], _ machine: MachineDescription) -> BenchReport {
        var figures: [BenchReport.Figure] = [
            .told("events", .int(workload.events)), .told("rate", .int(rate)),
            .told("peer", peer.map(JSONValue.string) ?? .null),
            .told("milliseconds", delays[0].json),
        ]
        guard delays.count == 2 else {
            return report(figures + delays[0].lines.map(BenchReport.Figure.shown), machine, turns: "")
        }
        figures.append(.told("peerMilliseconds", delays[1].json))
        figures += delays.map { .shown($0.line) }
        let ratios = LatencyDelays.ratios(delays[0], delays[1])
        let words = ratios.map { "\($0.name) \($0.ratio.text)" }.joined(separator: ", ")
        figures.append(.shown("divided by the peer's".padding(to: 26) + words))
        figures.append(.told("ratios", .members(ratios.map { ($0.name, $0.ratio.json) })))
        return report(figures, machine, turns: " in each of \(Self.turns) turns")
    }

    private func report(
        _ figures: [BenchReport.Figure],
        _ machine: MachineDescription,
        turns: String
    ) -> BenchReport {
        BenchReport(
            workload: "latency",
            title: "published to committed: \(workload.events) events\(turns), \(rate) per second",
            machine: machine,
            figures: figures
        )
    }
}
