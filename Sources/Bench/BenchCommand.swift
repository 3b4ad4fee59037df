package import CLI
import Foundation
import Pipeline
package import ServiceRuntime
import Settings

/// The command `bellhop bench [cold|fanout|urgent|phases|soak|api|publishing|latency|idle|decision|erasures|relay]`.
///
/// It measures rates, costs and latencies of workers and of the inbox API.
package enum BenchCommand: Command {
    package static let name = "bench"
    package static let summary =
        "Measures workers and the inbox API: events and calls per second, processor time, latency, memory."
    package static let mayBeDumped = true
    package static let synopsis = [
        "bench [--events N] [--users N] [--stored N] [--workers N] [--seed N] [--stub URL --stub-ca FILE] [--peer FILE] [--json] [--keep]",
        "bench cold [--events N] [--workers N] [--seed N] [--json] [--keep]",
        "bench fanout [--followers N] [--pushes off|on] [--workers N] [--seed N] [--json] [--keep]",
        "bench urgent [--followers N] [--pushes off|on] [--workers N] [--rate N/s] [--idle SECONDS] [--seed N] [--json] [--keep]",
        "bench phases [--users N] [--seconds N] [--stored N] [--rate N/s] [--chart FILE] [--seed N] [--json] [--keep]",
        "bench soak [--for SPAN] [--rate N/s] [--users N] [--seed N] [--json] [--keep]",
        "bench api [--users N] [--stored N] [--connections N] [--streams N] [--seconds N] [--peer FILE] [--json] [--keep]",
        "bench publishing [--connections N] [--seconds N] [--peer FILE] [--json] [--keep]",
        "bench latency [--events N] [--rate N/s] [--seed N] [--peer FILE] [--json] [--keep]",
        "bench idle [--json] [--keep]",
        "bench erasures [--events N] [--erasures N] [--users N] [--workers N] [--seed N] [--json] [--keep]",
        "bench relay [--events N] [--workers N] [--json] [--keep]",
        "bench decision [--events N] [--users N] [--seed N] [--json]",
    ]
    package static let options = [
        Option.taking("events", "N", "events of a run (50000; latency: 500; decision: 1000000)"),
        Option.taking("users", "N", "users that they go to (100000; latency, api: 1000)"),
        Option.taking("stored", "N", "existing notifications (0; api: per user, 200; phases: before the last but one)"),
        Option.taking("connections", "N", "concurrent connections to the API (16)"),
        Option.taking("streams", "N", "live streams held open at the end (0)"),
        Option.taking("seconds", "N", "how long one turn of calls to the API (4) or one phase (30) takes"),
        Option.taking("peer", "FILE", "a program to measure: in turns, or (W1) in place of the workers"),
        Option.taking("followers", "N", "followers of the topic of one event (1000000)"),
        Option.taking("pushes", "off|on", "whether the followers want pushes, or have muted the type (off)"),
        Option.taking("idle", "SECONDS", "how long an urgent run looks at an idle system (20)"),
        Option.taking("workers", "N", "worker processes that drain the lane, or relays (1)"),
        Option.taking("erasures", "N", "users that are erased between the two halves (20000)"),
        Option.taking(
            "rate",
            "N/s",
            "events per second of a latency or urgent run; phases: urgent ones (50/s; soak: 500/s)"
        ),
        Option.taking("for", "SPAN", "how long a soak takes, 10s to 7d (1h); Ctrl-C ends it with its report"),
        Option.taking("chart", "FILE", "also write a chart of the phases in SVG"),
        Option.taking("seed", "N", "decides users and events (1)"),
        Option.taking("stub", "URL", "an HTTP/2 server to use as the provider, or BENCH_STUB"),
        Option.taking("stub-ca", "FILE", "the authority to trust there, or BENCH_STUB_CA"),
        Option.json,
        Option.switch("keep", "leave schema, queues and logs behind"),
    ]

    package static func run(_ call: Call) async throws -> ExitCode {
        let order = try BenchOrder(call)
        let chart = try order.chart.map { path throws(CommandFailure) in try ChartFile(path) }
        let report: BenchReport
        do {
            report = try await order.run == .decision ? order.decide(call) : order.measure(call)
        } catch {
            chart?.remove()
            throw error
        }
        call.answer(report.json, report.text)
        try chart?.write(report.chart ?? "")
        return report.isRight ? .done : .answerIsNo
    }
}

/// The measurement that a command line asks for.
private struct BenchOrder: Sendable {
    enum Run: String {
        case throughput, cold, fanout, urgent, phases, soak, api, publishing, latency, idle, erasures, relay
        /// In memory.
        ///
        /// All others use servers and workers.
        case decision
    }

    let run: Run
    private let events: Int?
    private let users: Int?
    private let stored: Int?
    private let connections: Int
    private let streams: Int
    private let seconds: Int?
    private let peer: String?
    private let workers: Int
    private let rate: Int?
    private let length: Duration?
    let chart: String?
    private let erasures: Int
    private let followers: Int
    private let hasPushes: Bool
    private let idleSeconds: Int
    private let seed: UInt64
    private let stub: PushStub.Place?

    init(_ call: Call) throws(CommandFailure) {
        let words = call.words
        guard words.operands.count <= 1, let run = Run(rawValue: words.operands.first ?? Run.throughput.rawValue) else {
            throw words.misuse(
                "expected nothing, cold, fanout, urgent, phases, soak, api, publishing, latency, idle, decision, erasures or relay"
            )
        }
        self.run = run
        events = try words.number("events", in: 1...10_000_000)
        users = try words.number("users", in: 1...10_000_000)
        stored = try words.number("stored", in: 0...1_000_000_000)
        connections = try words.number("connections", in: 1...256) ?? 16
        streams = try words.number("streams", in: 0...50_000) ?? 0
        seconds = try words.number("seconds", in: 1...3_600)
        peer = words.value("peer")
        workers = try words.number("workers", in: 1...64) ?? 1
        rate = try words.number("rate", in: 1...10_000, unit: "/s")
        length = try words.optional("for", "a span from 10s to 7d, such as 2h") { text in
            Duration(text: text).flatMap { (.seconds(10) ... .seconds(7 * 86_400)).contains($0) ? $0 : nil }
        }
        chart = words.value("chart")
        erasures = try words.number("erasures", in: 1...1_000_000) ?? 20_000
        followers = try words.number("followers", in: 1...100_000_000) ?? 1_000_000
        hasPushes = try words.optional("pushes", "off or on") { ["off": false, "on": true][$0] } ?? false
        idleSeconds = try words.number("idle", in: 1...3_600) ?? 20
        seed = UInt64(try words.number("seed", in: 0...Int.max) ?? 1)
        let environment = call.shell.environment
        switch (
            words.value("stub") ?? environment["BENCH_STUB"], words.value("stub-ca") ?? environment["BENCH_STUB_CA"]
        ) {
        case (nil, nil): stub = nil
        case (let url?, let authority?) where url.hasPrefix("https://"):
            stub = PushStub.Place(url: url, authorityFile: authority)
        default: throw words.misuse("--stub takes an https URL and needs --stub-ca")
        }
        if run == .throughput, peer != nil, words.value("workers") != nil || words.value("stored") != nil {
            throw words.misuse("--peer cannot be combined with --workers or --stored")
        }
        if peer != nil, ![.throughput, .api, .publishing, .latency].contains(run) {
            throw words.misuse("--peer is only valid for W1 and with api, publishing or latency")
        }
        if run != .phases, chart != nil { throw words.misuse("--chart is only valid with phases") }
        if run != .soak, length != nil { throw words.misuse("--for is only valid with soak") }
    }

    func decide(_ call: Call) throws -> BenchReport {
        let catalogs = try call.setup(requiring: [.catalogs]).catalogs()
        try Workload.verify(catalogs)
        let run = DecisionRun(workload: workload(events: 0, users: 100_000), pairs: events ?? 1_000_000)
        return try run.measure(catalogs, ZoneLibrary(environment: call.shell.environment))
    }

    /// Measures with servers.
    ///
    /// Progress goes to stderr, so that stdout contains only the result.
    func measure(_ call: Call) async throws -> BenchReport {
        let isKept = call.words.has("keep")
        let stop = SoakStop()
        return try await Interruption.watching(unless: stop.request) {
            try await Testbed.with(call, keeping: isKept, reading: tables) { testbed in
                let say = { @Sendable (line: String) in
                    call.shell.complaints.print(line: "bellhop bench: \(line)")
                }
                if isKept { say("keeping namespace \(testbed.names.namespace) and \(testbed.folder)") }
                return try await measure(on: testbed, until: stop, saying: say)
            }
        }
    }

    private func measure(
        on testbed: Testbed,
        until stop: SoakStop,
        saying say: @escaping @Sendable (String) -> Void
    ) async throws -> BenchReport {
        switch run {
        case .latency:
            let run = LatencyRun(
                workload: workload(events: 500, users: 1_000),
                rate: rate ?? 50,
                peer: peer,
                say: say
            )
            return try await run.measure(on: testbed)
        case .cold:
            let run = ColdRun(events: events ?? 50_000, seed: seed, utcHour: utcHour, workers: workers, say: say)
            return try await run.measure(on: testbed)
        case .fanout: return try await FanoutRun(workload: audience, workers: workers, say: say).measure(on: testbed)
        case .urgent:
            let run = UrgentRun(
                workload: audience,
                workers: workers,
                rate: rate ?? 50,
                idleSeconds: idleSeconds,
                say: say
            )
            return try await run.measure(on: testbed)
        case .phases:
            let run = PhasesRun(
                workload: workload(events: 0, users: 100_000),
                seconds: Double(seconds ?? 30),
                stored: stored ?? 0,
                rate: rate ?? 50,
                say: say
            )
            return try await run.measure(on: testbed)
        case .soak:
            let run = SoakRun(
                workload: workload(events: 0, users: 100_000),
                length: length ?? .seconds(3_600),
                rate: rate ?? 500,
                stop: stop,
                say: say
            )
            return try await run.measure(on: testbed)
        case .api: return try await api(say).measure(on: testbed)
        case .publishing:
            let run = PublishingRun(connections: connections, seconds: Double(seconds ?? 4), peer: peer, say: say)
            return try await run.measure(on: testbed)
        case .idle: return try await IdleRun(watch: .seconds(10)).measure(on: testbed)
        case .relay: return try await RelayRun(rows: events ?? 50_000, relays: workers).measure(on: testbed)
        case .erasures:
            let half = workload(events: 20_000, users: 100_000)
            return try await ErasureRun(workload: half, workers: workers, erasures: erasures, say: say)
                .measure(on: testbed)
        case .throughput, .decision:
            let whole = workload(events: 50_000, users: 100_000)
            return try await ThroughputRun(
                workload: whole,
                workers: workers,
                stored: stored ?? 0,
                stub: stub,
                peer: peer,
                say: say
            )
            .measure(on: testbed)
        }
    }

    private var tables: BenchmarkBook.Tables { run == .throughput && peer != nil ? .peer : .own }

    private func api(_ say: @escaping @Sendable (String) -> Void) -> APIRun {
        APIRun(
            workload: workload(events: 0, users: 1_000),
            stored: max(1, stored ?? 200),
            connections: connections,
            streams: streams,
            seconds: Double(seconds ?? 4),
            peer: peer,
            say: say
        )
    }

    private func workload(events usualEvents: Int, users usualUsers: Int) -> Workload {
        Workload(seed: seed, events: events ?? usualEvents, users: users ?? usualUsers, utcHour: utcHour)
    }

    /// The followers of one event.
    private var audience: Workload {
        Workload(seed: seed, events: 0, users: followers, utcHour: utcHour, isMuted: !hasPushes)
    }

    private var utcHour: Int { Int(SystemTime().now().microseconds / 3_600_000_000 % 24) }
}
