import Bench
import Foundation
import Sandbox
import ServiceRuntime
import Testing
import TestSupport
import Workbench

@testable import CLI
@testable import Commands

extension CommandLineTool {
    /// The program with all its commands, as `main` composes it.
    static let whole = CommandLineTool.bellhop(with: [SandboxCommand.self, BenchCommand.self])
}

/// A command line in the test process, with a separate environment, and its result.
struct Prompt: Sendable {
    /// The result of one command.
    struct Answer: Sendable {
        let code: ExitCode
        let output: String
        let complaints: String
    }

    var environment: [String: String] = [:]
    var input = ""
    var terminal: Terminal?

    func run(_ words: String...) async -> Answer {
        await run(words)
    }

    func run(_ words: [String]) async -> Answer {
        let (printed, complained) = (CapturedOutput(), CapturedOutput())
        let shell = CommandEnvironment(
            environment: environment,
            output: printed.output,
            complaints: complained.output,
            readInput: { [input] in [UInt8](input.utf8) },
            terminal: terminal,
            user: "tester"
        )
        let code = await CommandLineTool.whole.run(words, shell)
        return Answer(code: code, output: printed.text, complaints: complained.text)
    }

    func with(_ name: String, _ value: String) -> Prompt {
        var other = self
        other.environment[name] = value
        return other
    }
}

/// A separate folder for a test, with the catalogue of the app drop in `catalogs`.
enum Workplace {
    static func with<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("bellhop"))
        let catalogs = folder.appendingPathComponent("catalogs")
        try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(at: shipped, to: catalogs.appendingPathComponent("drop.json5"))
        return try await body(folder)
    }

    /// Runs a body with a folder and a prompt that uses its catalogues.
    static func withPrompt<Value>(_ body: (Prompt, URL) async throws -> Value) async throws -> Value {
        try await with { folder in
            try await body(Prompt().with("BELLHOP_CATALOGS", folder.appendingPathComponent("catalogs").path), folder)
        }
    }

    /// Runs a body with a prompt that uses the servers, namespace and retry tiers of a bench.
    static func withPrompt<Value>(on bench: Bench, _ body: (Prompt, URL) async throws -> Value) async throws -> Value {
        try await withPrompt { prompt, folder in
            var prompt = prompt
            prompt.environment["BELLHOP_AMQP_URL"] = Servers.amqpURL
            prompt.environment["BELLHOP_DATABASE_URL"] = Servers.databaseURL
            prompt.environment["BELLHOP_NAMESPACE"] = bench.namespace.name
            prompt.environment["BELLHOP_RETRY_DELAYS"] = Bench.tiers.map(\.name).joined(separator: ",")
            prompt.environment["BELLHOP_METRICS_LISTEN"] = "127.0.0.1:0"
            return try await body(prompt, folder)
        }
    }

    private static var shipped: URL {
        Checkout.file("deploy/catalogs/drop.json5")
    }
}

/// The condition of tests that need both servers of this run.
enum BothServers {
    static let isThere = Servers.amqpURL != nil && Servers.databaseURL != nil
    static let absence: Comment = "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
}
