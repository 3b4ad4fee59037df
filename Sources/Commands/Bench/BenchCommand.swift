import Foundation
import Pipeline
import ServiceRuntime

/// `bellhop bench [latency|idle|decision|erasures]`: what a worker does in a second, takes, and makes one wait for.
struct BenchCommand: Command {
    static let name = "bench"
    static let summary = "Measures a worker: events a second, processor time an event, latency, memory."
    static let synopsis = [
        "bench [--events N] [--users N] [--workers N] [--seed N] [--stub URL --stub-ca FILE] [--json] [--keep]",
        "bench latency [--events N] [--rate N/s] [--seed N] [--json] [--keep]",
        "bench idle [--json] [--keep]",
        "bench erasures [--events N] [--erasures N] [--users N] [--workers N] [--seed N] [--json] [--keep]",
        "bench decision [--events N] [--users N] [--seed N] [--json]",
    ]
    static let options = [
        Option.taking("events", "N", "events of a run (50000; latency: 500; decision: 1000000)"),
        Option.taking("users", "N", "users that they go to (100000; latency: 1000)"),
        Option.taking("workers", "N", "worker processes that drain the lane (1)"),
        Option.taking("erasures", "N", "users that are erased between the two halves (20000)"),
        Option.taking("rate", "N/s", "events a second of a latency run (50/s)"),
        Option.taking("seed", "N", "decides users and events (1)"),
        Option.taking("stub", "URL", "an HTTP/2 server in place of our own, or BENCH_STUB"),
        Option.taking("stub-ca", "FILE", "the authority to trust there, or BENCH_STUB_CA"),
        Option.json,
        Option.switch("keep", "leave schema, queues and logs behind"),
    ]

    private enum Mode {
        /// With servers and workers.
        case served(ServedRun)
        /// In memory.
        case decision

        init?(_ word: String?) {
            if word == "decision" {
                self = .decision
            } else if let run = ServedRun(rawValue: word ?? ServedRun.throughput.rawValue) {
                self = .served(run)
            } else {
                return nil
            }
        }
    }

    private enum ServedRun: String {
        case throughput, latency, idle, erasures
    }

    private let words: Words
    private let mode: Mode
    private let events: Int?
    private let users: Int?
    private let workers: Int
    private let rate: Int
    private let erasures: Int
    private let seed: UInt64

    init(_ words: Words) throws(CommandFailure) {
        guard words.operands.count <= 1, let mode = Mode(words.operands.first) else {
            throw .usage(of: Self.name, "expected nothing, latency, idle, decision or erasures")
        }
        self.words = words
        self.mode = mode
        events = try Self.count("events", words, 1...10_000_000)
        users = try Self.count("users", words, 1...10_000_000)
        workers = try Self.count("workers", words, 1...64) ?? 1
        rate = try Self.count("rate", words, 1...10_000, unit: "/s") ?? 50
        erasures = try Self.count("erasures", words, 1...1_000_000) ?? 20_000
        seed = UInt64(try Self.count("seed", words, 0...Int.max) ?? 1)
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        switch mode {
        case .decision: try decide(surroundings)
        case .served(let run): try await measure(run, surroundings)
        }
    }

    private func measure(_ run: ServedRun, _ surroundings: Surroundings) async throws -> ExitCode {
        let stub = try stubPlace(surroundings.environment)
        let outcome = try await Interruption.watching {
            try await BenchGround.with(words, surroundings, keeping: words.has("keep")) { ground in
                let say = { @Sendable (line: String) in surroundings.complaints.print(line: "bellhop bench: \(line)") }
                if words.has("keep") { say("keeping namespace \(ground.names.namespace) and \(ground.folder)") }
                return try await measure(run, on: ground, stub, saying: say)
            }
        }
        surroundings.print(words.has("json") ? "\(outcome.json)" : outcome.text)
        return outcome.code
    }

    /// The one run that needs no servers.
    private func decide(_ surroundings: Surroundings) throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.catalogs])
        let catalogs = try Footing(configuration: configuration).catalogs()
        try Workload.verify(catalogs)
        let run = DecisionRun(workload: workload(events: 0, users: 100_000), pairs: events ?? 1_000_000)
        let report = try run.measure(catalogs, ZoneLibrary(environment: surroundings.environment))
        surroundings.print(words.has("json") ? "\(report.json)" : report.text)
        return report.isRight ? .done : .answerIsNo
    }

    private struct Outcome: Sendable {
        let text: String
        let json: JSONText
        var code = ExitCode.done
    }

    /// How it comes along is said on stderr, so that stdout holds the result alone.
    private func measure(
        _ run: ServedRun,
        on ground: BenchGround,
        _ stub: PushStub.Place?,
        saying say: @escaping @Sendable (String) -> Void
    ) async throws -> Outcome {
        switch run {
        case .throughput:
            let run = ThroughputRun(
                workload: workload(events: 50_000, users: 100_000),
                workers: workers,
                stub: stub,
                say: say
            )
            let report = try await run.measure(on: ground)
            let code = report.verification.faults.isEmpty ? ExitCode.done : .answerIsNo
            return Outcome(text: report.text, json: report.json, code: code)
        case .latency:
            let run = LatencyRun(workload: workload(events: 500, users: 1_000), rate: rate)
            let report = try await run.measure(on: ground)
            return Outcome(text: report.text, json: report.json)
        case .idle:
            let report = try await IdleRun(watch: .seconds(10)).measure(on: ground)
            return Outcome(text: report.text, json: report.json)
        case .erasures:
            let run = ErasureRun(
                workload: workload(events: 20_000, users: 100_000),
                workers: workers,
                erasures: erasures,
                say: say
            )
            let report = try await run.measure(on: ground)
            let code = report.verification.faults.isEmpty ? ExitCode.done : .answerIsNo
            return Outcome(text: report.text, json: report.json, code: code)
        }
    }

    private func workload(events usualEvents: Int, users usualUsers: Int) -> Workload {
        let hour = Int(SystemTime().now().microseconds / 3_600_000_000 % 24)
        return Workload(
            seed: seed,
            events: events ?? usualEvents,
            users: users ?? usualUsers,
            utcHour: hour
        )
    }

    private func stubPlace(_ environment: [String: String]) throws(CommandFailure) -> PushStub.Place? {
        let url = words.value("stub") ?? environment["BENCH_STUB"]
        let authority = words.value("stub-ca") ?? environment["BENCH_STUB_CA"]
        switch (url, authority) {
        case (nil, nil): return nil
        case (let url?, let authority?) where url.hasPrefix("https://"):
            return PushStub.Place(url: url, authorityFile: authority)
        default: throw .usage(of: Self.name, "--stub takes an https URL and needs --stub-ca")
        }
    }

    private static func count(
        _ option: String,
        _ words: Words,
        _ range: ClosedRange<Int>,
        unit: String = ""
    ) throws(CommandFailure) -> Int? {
        guard let text = words.value(option) else { return nil }
        let digits = !unit.isEmpty && text.hasSuffix(unit) ? String(text.dropLast(unit.count)) : text
        guard let number = Int(digits), range.contains(number) else {
            throw .usage(of: name, "--\(option) takes a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
