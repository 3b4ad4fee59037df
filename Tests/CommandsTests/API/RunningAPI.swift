import Foundation
import ServiceRuntime
import TestSupport
import Testing
import Workbench

@testable import Commands

/// `bellhop api` as a process of its own, on a bench's schema and with a key set of its own.
struct RunningAPI {
    /// Where clients call.
    let address: String
    /// Where probes call.
    let probe: String
    let child: ChildProcess
    private let prompt: Prompt
    private let files: (key: String, set: String)

    /// In a folder that is there for it alone.
    init(on bench: Bench, in folder: URL, with settings: [String: String] = [:]) async throws {
        files = (folder.appendingPathComponent("key").path, folder.appendingPathComponent("set").path)
        let log = folder.appendingPathComponent("log").path
        let usual = [
            "BELLHOP_DATABASE_URL": Servers.databaseURL ?? "", "BELLHOP_NAMESPACE": "\(bench.namespace)",
            "BELLHOP_CATALOGS": Checkout.file("deploy/catalogs").path, "BELLHOP_JWT_KEYS": files.set,
            "BELLHOP_API_LISTEN": "127.0.0.1:0", "BELLHOP_METRICS_LISTEN": "127.0.0.1:0",
            "BELLHOP_LOG": "info,json",
        ]
        prompt = Prompt(environment: usual.merging(settings) { _, given in given })
        _ = await prompt.run("keys", "tokens", "--out", files.key, "--set", files.set)
        child = try RealProgram(prompt).start("exec '\(RunningPool.executable)' api 2>'\(log)'")
        try await eventually("it listens") {
            Self.address("inbox API", in: log) != nil && Self.address("operations endpoint", in: log) != nil
        }
        address = try #require(Self.address("inbox API", in: log))
        probe = try #require(Self.address("operations endpoint", in: log))
    }

    /// A token by the newest key.
    func token(_ user: String = "ada", app: String = "drop") async -> String {
        await prompt.run("token", "--key", files.key, "--app", app, "--user", user).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Another key in place of the first: its tokens end with it.
    func changeKeys() async {
        unlink(files.key)
        unlink(files.set)
        _ = await prompt.run("keys", "tokens", "--out", files.key, "--set", files.set)
        child.hangUp()
    }

    func end() async -> ChildEnding {
        child.terminate()
        return await child.ending()
    }

    /// The status that a GET comes back with.
    static func get(_ url: String, _ token: String?) async throws -> Int {
        let call = PlainCall(url, headers: token.map { ["Authorization: Bearer \($0)"] } ?? [])
        return try await #require(call).answer().status
    }

    /// Where a service says that it listens.
    private static func address(_ service: String, in log: String) -> String? {
        let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.contains("\"listening\"") && $0.contains("\"\(service)\"") }
        return line?.firstMatch(of: /http:\/\/[0-9.:]+/).map { String($0.0) }
    }
}
