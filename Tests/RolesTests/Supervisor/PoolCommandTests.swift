import CommandLineSupport
import Foundation
import Glibc
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@testable import Roles

@Suite(
    "bellhop pool",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .enabled(if: RunningPool.isBuilt, "needs the program bellhop next to the tests: swift build"),
    .serialized,
    .timeLimit(.ofTest)
)
struct PoolCommandTests {
    @Test("a killed worker is replaced, and SIGTERM drains all workers")
    func restart() async throws {
        try await Self.withPool(workers: 2) { pool in
            try await pool.wait(for: "two consuming workers") { $0.isManned(2) }
            let (victim, other) = (pool.crew[0], pool.crew[1])
            kill(victim.process, SIGKILL)
            try await pool.wait(for: "another worker in its place") { pool in
                // The order matters, since the log grows between two reads: the killed worker was consuming, too.
                pool.crew[0].process != victim.process && pool.isManned(2)
            }
            #expect(pool.crew[1].process == other.process)
            let said = pool.lines.last { $0.message.hasPrefix("the worker ended") }
            #expect(said?.worker == victim.number)
            #expect(said?.because?.contains("SIGKILL") == true)
            let started = pool.workers.count
            pool.terminate()
            // An immediate repeat counts as an echo.
            pool.terminate()
            #expect(await pool.ending() == .exited(0))
            #expect(pool.workers.count == started)
            #expect(pool.workers.allSatisfy { !pool.isRunning($0.process) })
            let drained = pool.lines.filter { $0.label == "worker" && $0.message == "stopped" }
            #expect(Set(drained.map(\.worker)) == [0, 1])
        }
    }

    @Test("a pool with --api keeps an inbox API alongside the workers and drains it with them")
    func api() async throws {
        try await CommandFolder.with { folder in
            let (key, set) = (folder.appendingPathComponent("key").path, folder.appendingPathComponent("set").path)
            _ = await Prompt().run("keys", "tokens", "--out", key, "--set", set)
            let settings = ["BELLHOP_JWT_KEYS": set, "BELLHOP_API_LISTEN": "127.0.0.1:0"]
            try await Self.withPool(workers: 1, options: "--api", settings) { pool in
                try await pool.wait(for: "a worker and an API") { pool in
                    pool.isManned(1) && pool.isServing("inbox API", "inbox API")
                }
                let worker = pool.crew[0].process
                let victim = try #require(pool.processes("inbox API").last)
                kill(victim, SIGKILL)
                try await pool.wait(for: "another API") { pool in
                    pool.processes("inbox API").last != victim && pool.isServing("inbox API", "inbox API")
                }
                pool.terminate()
                #expect(await pool.ending() == .exited(0))
                #expect(pool.processes("inbox API").allSatisfy { !pool.isRunning($0) })
                #expect(pool.crew[0].process == worker)
            }
        }
    }

    @Test("SIGHUP reaches every worker, which reloads the catalogues and continues")
    func hangUp() async throws {
        try await Self.withPool(workers: 2) { pool in
            try await pool.wait(for: "two consuming workers") { $0.isManned(2) }
            let crew = pool.crew.map(\.process)
            pool.hangUp()
            try await pool.wait(for: "two reloads") { pool in
                let reloads = pool.lines.filter { $0.message == "catalogues reloaded" }
                return Set(reloads.map(\.worker)) == [0, 1]
            }
            pool.terminate()
            #expect(await pool.ending() == .exited(0))
            #expect(pool.crew.map(\.process) == crew, "none was replaced")
        }
    }

    @Test("a broken catalogue stops no running worker, and a killed worker returns after its correction")
    func brokenCatalogue() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let catalog = folder.appendingPathComponent("catalogs/drop.json5")
                let sound = try Data(contentsOf: catalog)
                try await RunningPool.with(workers: 3, prompt, in: folder) { pool in
                    try await pool.wait(for: "three consuming workers") { $0.isManned(3) }
                    let first = pool.crew
                    try Data("{ half a".utf8).write(to: catalog)
                    pool.hangUp()
                    try await pool.wait(for: "three refusals") { pool in
                        pool.lines.filter { $0.message.hasPrefix("new catalogues rejected") }.count == 3
                    }
                    kill(first[0].process, SIGKILL)
                    let complaint = "the worker cannot start"
                    try await pool.wait(for: "two failed attempts") { pool in
                        pool.lines.filter { $0.message == complaint && $0.worker == first[0].number }.count >= 2
                    }
                    let others = first.dropFirst().filter { pool.isRunning($0.process) }
                    #expect(others.count == 2)
                    try sound.write(to: catalog)
                    // A SIGHUP ends the pause between restarts.
                    pool.hangUp()
                    try await pool.wait(for: "the worker's return") { pool in
                        pool.workers.last.map { $0.number == first[0].number && pool.isConsuming($0.process) } ?? false
                    }
                    let survivors = first.dropFirst().filter { pool.isRunning($0.process) }
                    #expect(survivors.count == 2)
                    pool.terminate()
                    #expect(await pool.ending() == .exited(0))
                }
            }
        }
    }

    @Test("a killed pool leaves no worker behind, since each drains on its own")
    func orphans() async throws {
        try await Self.withPool(workers: 2) { pool in
            try await pool.wait(for: "two consuming workers") { $0.isManned(2) }
            pool.kill()
            #expect(await pool.ending() == .killed(signal: SIGKILL))
            try await pool.wait(for: "two drained workers") { pool in
                pool.lines.filter { $0.label == "worker" && $0.message == "stopped" }.count == 2
            }
            try await pool.wait(for: "their ends") { pool in pool.workers.allSatisfy { !pool.isRunning($0.process) } }
        }
    }

    @Test("hold add returns when all workers observe the hold, and names a worker that hangs")
    func holds() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                try await RunningPool.with(workers: 2, prompt, in: folder) { pool in
                    try await pool.wait(for: "two consuming workers") { $0.isManned(2) }
                    let why = ["--by", "ada", "--because", "a test"]
                    let hung = pool.crew[0].process
                    try await eventually("both workers observe a hold") {
                        let added = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + why)
                        return added.output.contains("All 2 workers observe it; no further send begins.")
                    }
                    kill(hung, SIGSTOP)
                    let added = await prompt.run(["hold", "add", "--app", "drop"] + why)
                    kill(hung, SIGCONT)
                    #expect(added.output.contains("1 of 2 workers observed it within 5 s."), "\(added.output)")
                    #expect(added.output.contains("[\(hung)] did not confirm, and may still send"), "\(added.output)")
                    pool.terminate()
                    #expect(await pool.ending() == .exited(0))
                }
            }
        }
    }

    @Test("a second signal ends workers that do not respond")
    func secondSignal() async throws {
        try await Self.withPool(workers: 1) { pool in
            try await pool.wait(for: "a consuming worker") { $0.isManned(1) }
            let worker = pool.crew[0].process
            kill(worker, SIGSTOP)
            pool.terminate()
            try await pool.wait(for: "the end") { pool in
                pool.terminate()
                return !pool.isRunning(worker)
            }
            #expect(await pool.ending() == .exited(ExitCode.tryAgain.rawValue))
        }
    }

    @Test("a worker that does not drain in time is killed, and the pool reports it")
    func drainTimeout() async throws {
        try await Self.withPool(workers: 1, ["BELLHOP_DRAIN_TIMEOUT": "5s"]) { pool in
            try await pool.wait(for: "a consuming worker") { $0.isManned(1) }
            let worker = pool.crew[0].process
            kill(worker, SIGSTOP)
            pool.terminate()
            #expect(await pool.ending() == .exited(ExitCode.tryAgain.rawValue))
            #expect(!pool.isRunning(worker))
            let last = pool.lines.last { $0.label == "pool" }
            #expect(last?.because?.hasPrefix("worker 0 did not finish in time") == true)
        }
    }

    @Test("a fault that no restart can correct ends the pool with its exit code")
    func hopeless() async throws {
        try await ServerFixture.withSchema { servers in
            // No topology was applied, so each worker exits with 78.
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                try await RunningPool.with(workers: 2, prompt, in: folder) { pool in
                    #expect(await pool.ending() == .exited(ExitCode.configuration.rawValue))
                    #expect(pool.workers.allSatisfy { !pool.isRunning($0.process) })
                }
            }
        }
    }

    @Test("no worker starts on a host without a tz database, where quiet hours would never apply")
    func withoutZones() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let lost = prompt.with("TZDIR", folder.appendingPathComponent("none").path)
                try await RunningPool.with(workers: 1, lost, in: folder) { pool in
                    #expect(await pool.ending() == .exited(ExitCode.configuration.rawValue))
                }
            }
        }
    }

    @Test("a fault that affects all workers is reported before one starts")
    func configuration() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.environment["BELLHOP_AMQP_URL"] = "amqp://127.0.0.1"
            prompt.environment["BELLHOP_DATABASE_URL"] = "postgres://127.0.0.1/bellhop"
            let batch = await prompt.with("BELLHOP_BATCH", "0").run("pool", "--workers", "2")
            #expect(batch.code == .configuration)
            #expect(batch.complaints.contains("BELLHOP_BATCH"))
            let ports = await prompt.with("BELLHOP_METRICS_LISTEN", "127.0.0.1:65535").run("pool", "--workers", "2")
            #expect(ports.code == .usage)
            #expect(ports.complaints.contains("65535"))
        }
    }

    private static func withPool(
        workers: Int,
        options: String = "",
        _ settings: [String: String] = [:],
        _ body: (RunningPool) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                var prompt = prompt
                for (name, value) in settings { prompt = prompt.with(name, value) }
                try await RunningPool.with(workers: workers, options: options, prompt, in: folder, body)
            }
        }
    }
}

@Suite("Records of a seat")
struct RestartHistoryTests {
    @Test("after an orderly end the next process starts immediately, and later failures wait as briefly as the first")
    func orderly() {
        var record = RestartHistory()
        var chance = SystemRandomNumberGenerator()
        for _ in 0..<8 { _ = record.pause(after: .exited(1), running: .seconds(2), using: &chance) }
        #expect(record.pause(after: .exited(0), running: .seconds(2), using: &chance) == .zero)
        #expect(record.pause(after: .killed(signal: 9), running: .seconds(2), using: &chance) <= .seconds(1))
        let short = record.pause(after: .exited(0), running: .milliseconds(10), using: &chance)
        #expect(short > .zero, "no tight loop")
        #expect(record.pause(after: nil, running: .zero, using: &chance) > .zero)
    }

    @Test("only a worker that has started its work makes a retry of a wrong configuration worthwhile")
    func soundness() {
        let wrong = ChildExit.exited(ExitCode.configuration.rawValue)
        let unavailable = ChildExit.exited(ExitCode.unavailable.rawValue)
        var record = RestartHistory()
        #expect(!record.hasRun(wrong, for: .seconds(1)))
        record.note(unavailable, for: .seconds(1))
        #expect(!record.hasRun(wrong, for: .seconds(1)), "without its servers it did not begin")
        #expect(record.hasRun(wrong, for: .seconds(60)), "it has run for a minute itself")
        record.note(.killed(signal: 9), for: .seconds(1))
        #expect(record.hasRun(wrong, for: .seconds(1)))
        record.note(wrong, for: .seconds(1))
        #expect(record.hasRun(wrong, for: .seconds(1)), "it stays so, however often the next ones fail")
    }
}

@Suite("Pauses between restarts")
struct RestartBackoffTests {
    @Test("pauses grow to 30 seconds and start again after a worker that ran for a minute")
    func growth() {
        var chance = SeededChance(1)
        var pauses = RestartBackoff()
        for ceiling in [0.5, 1, 2, 4, 8, 16, 30, 30] {
            let pause = pauses.next(afterRunning: .seconds(1), using: &chance).secondsAsDouble
            #expect(pause >= ceiling / 2 && pause <= ceiling)
        }
        #expect(pauses.next(afterRunning: .seconds(59), using: &chance) >= .seconds(15))
        #expect(pauses.next(afterRunning: .seconds(60), using: &chance) <= .milliseconds(500))
    }
}
