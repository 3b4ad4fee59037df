import CommandLineSupport
import Foundation
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Bench

@Suite("bellhop bench", .limitedConcurrency, .timeLimit(.ofTest))
struct BenchCommandTests {
    private static let hasServers = Servers.amqpURL != nil && Servers.databaseURL != nil

    @Test(
        "a small run finds no lost and no repeated notification and leaves no data behind",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func measures() async throws {
        let report = try await Self.report(["--events", "300", "--users", "200", "--stored", "500"])
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
        #expect(verification["notifications"] as? Int == 300)
        #expect(verification["pushesArrived"] as? Int == verification["pushesExpected"] as? Int)
        #expect((report["eventsPerSecond"] as? Double ?? 0) > 0)
        #expect((report["peakWorkerBytes"] as? Int ?? 0) > 0)
        for figure in ["diskBytesPerEvent", "walBytesPerEvent", "pagesPerEvent"] {
            #expect((report[figure] as? Double ?? 0) > 0, "\(figure)")
        }
        #expect((report["startProcessorMilliseconds"] as? Double ?? 0) > 0)
        let costs = try #require(report["microsecondsPerEvent"] as? [String: Any])
        #expect(costs["worker"] as? Double != nil, "\(costs)")
    }

    @Test(
        "devices that were never reached are measured first, then the same devices again",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func cold() async throws {
        let report = try await Self.report(["cold", "--events", "300", "--workers", "2"])
        #expect(report["workload"] as? String == "cold")
        for half in ["cold", "warm"] {
            let figures = try #require(report[half] as? [String: Any])
            #expect((figures["eventsPerSecond"] as? Double ?? 0) > 0, "\(figures)")
            #expect((figures["workerMicroseconds"] as? Double ?? -1) >= 0, "\(figures)")
        }
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
        // Half a percent of the events is published twice and counts once.
        #expect(verification["notifications"] as? Int == 1_600)
    }

    @Test(
        "a small fan-out reaches each follower once and is compared with one statement that inserts the same rows",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set"),
        arguments: ["off", "on"]
    )
    func fanout(pushes: String) async throws {
        let report = try await Self.report(["fanout", "--followers", "2500", "--pushes", pushes, "--workers", "2"])
        #expect(report["workload"] as? String == "W2")
        #expect(report["followers"] as? Int == 2_500)
        for figure in ["seconds", "insertSelectSeconds", "ratio"] {
            #expect((report[figure] as? Double ?? 0) > 0, "\(figure)")
        }
        #expect((report["peakWorkerBytes"] as? Int ?? 0) > 0)
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
        #expect(verification["notifications"] as? Int == 2_500)
        let arrived = verification["pushesArrived"] as? Int ?? 0
        #expect((arrived > 2_000) == (pushes == "on"))
    }

    @Test(
        "urgent events are timed on an idle system and during a fan-out, each with one push",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func urgent() async throws {
        let report = try await Self.report(
            ["urgent", "--followers", "2500", "--pushes", "on", "--rate", "50/s", "--idle", "1"]
        )
        for phase in ["idle", "underFanout"] {
            let delays = try #require(report[phase] as? [String: Any])
            let median = delays["p50"] as? Double ?? 0
            let late = delays["p90"] as? Double ?? 0
            let worst = delays["p99"] as? Double ?? 0
            #expect(median > 0 && late >= median && worst >= late, "\(delays)")
        }
        #expect((report["ratio"] as? Double ?? 0) > 0)
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
    }

    @Test(
        "a soak counts each event, deletes old notifications as it goes, and has slopes without a verdict if it is short",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func soak() async throws {
        let report = try await Self.report(["soak", "--for", "20s", "--rate", "40/s", "--users", "200"])
        #expect(report["workload"] as? String == "soak")
        #expect(report["endedEarly"] as? Bool == false)
        // The thousand events before the load are older than ten seconds at its end.
        #expect((report["deleted"] as? Int ?? 0) >= 1_000)
        let samples = try #require(report["samples"] as? [[String: Any]])
        #expect(!samples.isEmpty)
        for sample in samples {
            for figure in ["memoryBytes", "descriptors", "diskBytes", "benchmarkMemoryBytes"] {
                #expect((sample[figure] as? Int ?? 0) > 0, "\(figure) of \(sample)")
            }
        }
        for figure in ["memoryBytes", "descriptors", "diskBytes", "p99", "benchmarkMemoryBytes"] {
            let trend = try #require(report[figure] as? [String: Any])
            #expect(trend["verdict"] as? String == "unclear", "\(figure)")
        }
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
        #expect(verification["notifications"] as? Int == report["events"] as? Int)
    }

    @Test(
        "Ctrl-C ends a soak early, with its report",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func interruptedSoak() async throws {
        let program = try #require(BuiltProgram.path, "the program bellhop is not built together with the tests")
        // The load lasts far longer than a test may.
        let words = ["bench", "soak", "--for", "7d", "--rate", "40/s", "--users", "200", "--json"]
        let said = try await Self.run(program, words, interruptingAfter: "a sample every 1m")
        #expect(said.status == 0, "\(said.errors)")
        let object = try JSONSerialization.jsonObject(with: Data(said.output.utf8))
        let report = try #require(object as? [String: Any], "not JSON: \(said.output)")
        #expect(report["endedEarly"] as? Bool == true)
        #expect((report["samples"] as? [Any])?.count == 1)
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
    }

    @Test(
        "the inbox API is called by signed-in users, one route after another, and marks notifications as read",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func inboxAPI() async throws {
        let report = try await Self.report(
            ["api", "--users", "20", "--stored", "40", "--seconds", "1", "--connections", "3", "--streams", "150"]
        )
        #expect(report["workload"] as? String == "W5")
        let streams = try #require(report["streams"] as? [String: Any])
        #expect(streams["open"] as? Int == 150)
        let grown = (streams["residentBytes"] as? Int ?? 0) > (streams["residentBytesBefore"] as? Int ?? .max)
        #expect(grown, "\(streams)")
        let routes = try #require(report["routes"] as? [[String: Any]])
        #expect(routes.compactMap { $0["route"] as? String } == ["list", "unread", "read"])
        for route in routes {
            for figure in ["requestsPerSecond", "cpuMicrosecondsPerRequest", "p99AtHalfLoad"] {
                // A turn is short and may measure no time on a busy host.
                #expect((route[figure] as? Double ?? -1) >= 0, "\(figure) of \(route)")
            }
        }
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
    }

    @Test(
        "two relays move every row of an outbox to the broker once",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func relay() async throws {
        let report = try await Self.report(["relay", "--events", "500", "--workers", "2"])
        #expect(report["workload"] as? String == "relay")
        // A first row proves that the relays are connected.
        #expect(report["messages"] as? Int == 501)
        for figure in ["rowsPerSecond", "seconds", "peakBytes"] {
            #expect((report[figure] as? Double ?? 0) > 0, "\(figure)")
        }
    }

    @Test(
        "events are published by HTTP, and the queues hold as many as were answered",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func publishing() async throws {
        let report = try await Self.report(["publishing", "--seconds", "1", "--connections", "3"])
        #expect(report["workload"] as? String == "W6")
        let servers = try #require(report["servers"] as? [[String: Any]])
        #expect(servers.count == 1 && (servers[0]["eventsPerSecond"] as? Double ?? 0) > 0)
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
    }

    @Test(
        "a peer processes the events in place of the worker, with the same pushes, and writes its tables",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set"),
        .enabled(if: canBuildFloor, "cc, or Debian's headers of libpq, are missing")
    )
    func peer() async throws {
        let floor = try await Floor()
        defer { floor.remove() }
        let report = try await Self.report(["--events", "300", "--users", "200", "--peer", floor.path])
        #expect(report["peer"] as? String == floor.path)
        #expect((report["eventsPerSecond"] as? Double ?? 0) > 0)
        let verification = try #require(report["verification"] as? [String: Any])
        #expect(verification["passed"] as? Bool == true, "\(verification)")
        #expect(verification["notifications"] as? Int == 300)
        #expect(verification["pushesArrived"] as? Int == verification["pushesExpected"] as? Int)
    }

    @Test(
        "the latency of the worker and of a peer is measured in turns, with their ratio",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set"),
        .enabled(if: canBuildFloor, "cc, or Debian's headers of libpq, are missing")
    )
    func latency() async throws {
        let floor = try await Floor()
        defer { floor.remove() }
        let report = try await Self.report([
            "latency", "--events", "20", "--rate", "200/s", "--peer", floor.path,
        ])
        for program in ["milliseconds", "peerMilliseconds"] {
            let delays = try #require(report[program] as? [String: Any])
            #expect((delays["median"] as? Double ?? 0) > 0, "\(program)")
        }
        let ratios = try #require(report["ratios"] as? [String: [String: Any]])
        #expect(Set(ratios.keys) == ["median", "p99"])
        #expect(ratios.values.allSatisfy { ($0["median"] as? Double ?? 0) > 0 }, "\(ratios)")
    }

    /// The peer `floor`, built for a test.
    private struct Floor {
        private let folder = NSTemporaryDirectory() + Servers.uniqueName("peers")

        var path: String { folder + "/floor" }

        init() async throws {
            let build = root.appendingPathComponent("Tests/Benchmarks/peers/build").path
            let built = try await run(build, [folder, "floor"])
            try #require(built.status == 0, "\(built.errors)")
        }

        func remove() { try? FileManager.default.removeItem(atPath: folder) }
    }

    private static let canBuildFloor = ["/usr/bin/cc", "/usr/include/postgresql/libpq-fe.h"]
        .allSatisfy(FileManager.default.fileExists(atPath:))

    @Test(
        "a peer that ends before it consumes fails the run, with its end as the reason",
        .enabled(if: hasServers, "BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
    )
    func endingPeer() async throws {
        let program = try #require(BuiltProgram.path, "the program bellhop is not built together with the tests")
        let said = try await Self.run(program, ["bench", "--events", "50", "--users", "20", "--peer", "/bin/false"])
        #expect(said.status != 0)
        #expect(said.output.isEmpty)
        #expect(said.errors.contains("running /bin/false"), "\(said.errors)")
        #expect(said.errors.contains("it ended with exit code 1: "), "\(said.errors)")
    }

    @Test(
        "an invalid option is a usage error that names it",
        arguments: [
            ["--events", "0"], ["--workers", "many"], ["--rate", "-1/s"], ["--stub", "http://127.0.0.1"],
            ["--stub", "https://127.0.0.1"], ["--pushes", "some"], ["--followers", "0"], ["--connections", "0"],
            ["--streams", "-1"], ["--peer", "worker", "--workers", "2"], ["--peer", "worker", "--stored", "10"],
            ["--for", "1h"], ["--for", "1h", "phases"], ["--for", "9s", "soak"], ["--for", "soon", "soak"],
            ["--chart", "chart.svg"], ["--chart", "chart.svg", "soak"], ["--rate", "0/s", "soak"],
            ["--peer", "worker", "cold"],
        ]
    )
    func refusesOptions(words: [String]) async throws {
        let answer = await Prompt().run(["bench"] + words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains(words[0]))
    }

    @Test("a run with lost, repeated or misdirected notifications reports them")
    func verifies() {
        let good = Verification(
            expectedEvents: 2,
            notifications: 2,
            distinctNotifications: 2,
            expectedEndings: [.init(state: "delivered"): 3],
            endings: [.init(state: "delivered"): 3],
            hasDeadLetters: false,
            expectedPushes: 3,
            pushes: 3
        )
        #expect(good.faults.isEmpty)
        let bad = Verification(
            expectedEvents: 2,
            notifications: 3,
            distinctNotifications: 2,
            expectedEndings: [.init(state: "delivered"): 3],
            endings: [.init(state: "delivered"): 2, .init(state: "sending"): 1],
            hasDeadLetters: true,
            expectedPushes: 3,
            pushes: 4
        )
        #expect(bad.faults.count == 6)
    }

    @Test("quantiles are measured values")
    func quantiles() async throws {
        let values = (1...100).map(Double.init)
        #expect(Quantile.of(values, 0.5) == 50)
        #expect(Quantile.of(values, 0.99) == 99)
        #expect(Quantile.of(values, 1) == 100)
        #expect(Quantile.of([], 0.5) == 0)
    }

    // MARK: - Program

    /// Runs the benchmark, requires success and returns its report.
    private static func report(_ words: [String]) async throws -> [String: Any] {
        let program = try #require(BuiltProgram.path, "the program bellhop is not built together with the tests")
        let said = try await run(program, ["bench"] + words + ["--json"])
        #expect(said.status == 0, "\(said.errors)")
        return try #require(
            JSONSerialization.jsonObject(with: Data(said.output.utf8)) as? [String: Any],
            "not JSON: \(said.output)"
        )
    }

    private static func run(
        _ program: String,
        _ words: [String],
        interruptingAfter line: String? = nil
    ) async throws -> (status: Int32, output: String, errors: String) {
        let folder = NSTemporaryDirectory() + Servers.uniqueName("bench-test")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = FileManager.default.createFile(atPath: folder + "/out", contents: nil)
        _ = FileManager.default.createFile(atPath: folder + "/errors", contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        var environment = ProcessInfo.processInfo.environment
        environment["BELLHOP_CATALOGS"] = root.appendingPathComponent("deploy/catalogs").path
        process.environment = environment
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/out"))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/errors"))
        let (ends, ending) = AsyncStream<Never>.makeStream()
        process.terminationHandler = { _ in ending.finish() }
        try process.run()
        do {
            if let line {
                try await eventually("the line \(line)") {
                    try String(contentsOfFile: folder + "/errors", encoding: .utf8).contains(line)
                }
                process.interrupt()
            }
            for await _ in ends {}
            try Task.checkCancellation()
        } catch {
            process.terminate()
            throw error
        }
        return (
            process.terminationStatus, try String(contentsOfFile: folder + "/out", encoding: .utf8),
            try String(contentsOfFile: folder + "/errors", encoding: .utf8)
        )
    }

    private static var root: URL {
        Checkout.root
    }
}
