import CommandLineSupport
import Glibc
import IntegrationSupport
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop up",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .enabled(if: RunningPool.isBuilt, "needs the program bellhop next to the tests: swift build"),
    .serialized,
    .timeLimit(.ofTest)
)
struct UpTests {
    @Test("up starts every role on an empty database and broker, keeps them running and ends them all")
    func everything() async throws {
        try await Self.onEmptyServers { servers, prompt, up in
            try await up.wait(for: "every role") { up in
                up.isManned(2) && up.isServing("scheduler", "operations endpoint")
                    && up.isServing("inbox API", "inbox API") && up.isServing("console", "console")
            }
            var producer = prompt
            producer.input = Self.event
            let published = await producer.run("publish", "-")
            #expect(published.code == .done, "\(published.complaints)")
            try await eventually("its notification") {
                try await servers.count("SELECT count(*) FROM notifications") == 1
            }
            let victim = try #require(up.processes("scheduler").last)
            kill(victim, SIGKILL)
            try await up.wait(for: "another scheduler") { up in
                up.processes("scheduler").last != victim && up.isServing("scheduler", "operations endpoint")
            }
            up.terminate()
            #expect(await up.ending() == .exited(0))
            let all = up.lines.compactMap(\.child)
            #expect(all.count >= 6 && all.allSatisfy { !up.isRunning($0) })
        }
    }

    @Test("up without keys and operators starts no API and no console, and the log names the missing setting")
    func bare() async throws {
        try await Self.onEmptyServers(hasKeys: false) { _, _, up in
            try await up.wait(for: "workers and scheduler") { up in
                up.isManned(2) && up.isServing("scheduler", "operations endpoint")
            }
            #expect(up.processes("inbox API").isEmpty && up.processes("console").isEmpty)
            #expect(up.text.contains("BELLHOP_JWT_KEYS") && up.text.contains("BELLHOP_OPERATORS"))
            up.terminate()
            #expect(await up.ending() == .exited(0))
        }
    }

    @Test("a killed up leaves no process behind")
    func orphans() async throws {
        try await Self.onEmptyServers { _, _, up in
            try await up.wait(for: "every role") { up in
                up.isManned(2) && up.isServing("scheduler", "operations endpoint")
                    && up.isServing("inbox API", "inbox API") && up.isServing("console", "console")
            }
            up.kill()
            _ = await up.ending()
            try await up.wait(for: "their ends") { up in
                up.lines.compactMap(\.child).allSatisfy { !up.isRunning($0) }
            }
        }
    }

    @Test("up that cannot migrate the schema has the message and exit code of the migration")
    func refused() async throws {
        try await CommandFolder.withPrompt { prompt, _ in
            var prompt = prompt
            prompt.environment["BELLHOP_AMQP_URL"] = "amqp://127.0.0.1:1"
            prompt.environment["BELLHOP_DATABASE_URL"] = "postgres://127.0.0.1:1/bellhop"
            let refused = await prompt.run("up")
            let migration = await prompt.run("migrate")
            #expect(refused.code == migration.code && refused.code != .done)
            #expect(refused.complaints.contains("migrating the schema"))
        }
    }

    private static let event =
        #"{"id":"e1","app":"drop","eventType":"qr_payment","to":{"user":"ada"},"data":{"merchant":"Tim","amount":"62 kr"}}"#

    /// Runs a body in a namespace without schema and topology, with the catalogue of drop.
    private static func onEmptyServers(
        hasKeys: Bool = true,
        _ body: (ServerFixture, Prompt, RunningPool) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            try await servers.wipe()
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                var prompt = prompt
                if hasKeys {
                    let key = folder.appendingPathComponent("key").path
                    let (keys, operators) = (key + "-set", key + "-operators")
                    _ = await Prompt().run("keys", "tokens", "--out", key, "--set", keys)
                    _ = await Prompt().run("keys", "operator", "--name", "ada", "--set", operators)
                    prompt = prompt.with("BELLHOP_JWT_KEYS", keys).with("BELLHOP_OPERATORS", operators)
                }
                for setting in ["BELLHOP_API_LISTEN", "BELLHOP_CONSOLE_LISTEN"] {
                    prompt = prompt.with(setting, "127.0.0.1:0")
                }
                try await RunningPool.with("up", workers: 2, prompt, in: folder) { up in
                    try await body(servers, prompt, up)
                }
            }
        }
    }
}
