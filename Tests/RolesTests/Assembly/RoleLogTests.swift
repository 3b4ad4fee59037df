import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@Suite(
    "Roles that cannot continue",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .enabled(if: RunningPool.isBuilt, "needs the program bellhop next to the tests: swift build"),
    .timeLimit(.ofTest)
)
struct RoleLogTests {
    private static let roles = [
        "worker", "worker --number 3 --until-stdin-ends", "scheduler", "pool --workers 2", "up",
    ]

    /// The broken setting, its value, and a word of the fault that the log must contain.
    private static let faults: [(String, String, String)] = [
        ("BELLHOP_AMQP_URL", "amqp://127.0.0.1:1", "127.0.0.1"), ("BELLHOP_BATCH", "many", "BELLHOP_BATCH"),
        ("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none", "127.0.0.1"),
        ("BELLHOP_CATALOGS", "/nonexistent", "/nonexistent"), ("BELLHOP_LOG", "loud,json", "BELLHOP_LOG"),
        ("BELLHOP_CONFIG", "/nonexistent", "/nonexistent"),
    ]

    private static func withProgram(_ body: (Prompt, URL) async throws -> Void) async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                try await body(prompt.with("BELLHOP_LOG", "info,json"), folder)
            }
        }
    }

    /// Parses each line as JSON; any other line is a failure.
    private static func lines(_ text: String) -> [[String: Any]] {
        text.split(separator: "\n").compactMap { line in
            let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(value != nil, "no JSON: \(line)")
            return value
        }
    }

    @Test("every log line is JSON if JSON is configured, whatever the fault is", arguments: faults)
    func json(name: String, value: String, word: String) async throws {
        try await Self.withProgram { prompt, _ in
            let program = RealProgram(prompt.with(name, value))
            // The workers of a pool wait for unavailable servers.
            for role in Self.roles where !(role.hasPrefix("pool") && value.contains(":1")) {
                let (ending, text) = try await program.run("bellhop \(role)")
                let lines = Self.lines(text)
                let found = lines.contains { line in line.values.contains { "\($0)".contains(word) } }
                #expect(ending != .exited(0), "\(role)")
                #expect(found, "\(role): \(text)")
            }
        }
    }

    @Test("a pool with unavailable servers reports it as JSON, with the number of each worker")
    func away() async throws {
        try await Self.withProgram { prompt, folder in
            let lost = prompt.with("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none")
            try await RunningPool.with(workers: 2, lost, in: folder) { pool in
                try await pool.wait(for: "words of both workers") { pool in
                    let said = pool.lines.filter { $0.label == "worker" && $0.message == "cannot go on" }
                    return Set(said.map(\.worker)) == [0, 1]
                }
                pool.terminate()
                // The signal may reach a worker that is just ending.
                _ = await pool.ending()
                let count = Self.lines(pool.text).count
                #expect(count == pool.lines.count)
            }
        }
    }

    @Test("each fault of a catalogue is a line of JSON with the number of its worker")
    func catalogue() async throws {
        try await Self.withProgram { prompt, folder in
            let file = folder.appendingPathComponent("catalogs/broken.json5")
            try Data(#"{app: "Broken App", langage: "en", types: {}}"#.utf8).write(to: file)
            for role in Self.roles {
                let (ending, text) = try await RealProgram(prompt).run("bellhop \(role)")
                #expect(ending == .exited(ExitCode.configuration.rawValue), "\(role): \(text)")
                let lines = Self.lines(text).filter { $0["message"] as? String == "cannot go on" }
                #expect(lines.count >= 3, "\(role): \(text)")
                let isTold = lines.allSatisfy { $0["exit"] as? Int == 78 && $0["level"] as? String == "error" }
                let isNumbered = lines.allSatisfy { $0["worker"] as? Int == 3 }
                #expect(isTold, "\(text)")
                #expect(isNumbered == role.contains("--number"), "\(text)")
            }
        }
    }

    @Test("a missing topology is reported once by a pool, and with its number by a single worker")
    func topology() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let (ending, text) = try await RealProgram(prompt).run("bellhop pool --workers 4")
                #expect(ending == .exited(ExitCode.configuration.rawValue))
                #expect(text.hasPrefix("bellhop: checking the broker's topology: "), "\(text)")
                #expect(text.split(separator: "\n").count == 1, "\(text)")
                let (_, worker) = try await RealProgram(prompt).run("bellhop worker --number 2 --until-stdin-ends")
                let last = worker.split(separator: "\n").last ?? ""
                #expect(last.contains("cannot go on  worker=2 error=\"checking the broker's topology: "), "\(worker)")
            }
        }
    }
}
