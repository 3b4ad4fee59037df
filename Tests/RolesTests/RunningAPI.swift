import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

/// `bellhop api` as a separate process, on a fixture's schema and with a separate key set.
struct RunningAPI {
    /// The address for clients.
    let address: String
    /// The address for probes.
    let probe: String
    let child: ChildProcess
    private let prompt: Prompt
    private let files: (key: String, set: String)

    /// Starts the API in a folder that only it uses.
    init(on servers: ServerFixture, in folder: URL, with settings: [String: String] = [:]) async throws {
        files = (folder.appendingPathComponent("key").path, folder.appendingPathComponent("set").path)
        let log = folder.appendingPathComponent("log").path
        let usual = [
            "BELLHOP_DATABASE_URL": Servers.databaseURL ?? "", "BELLHOP_NAMESPACE": "\(servers.namespace)",
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

    /// Returns a token signed with the newest key.
    func token(_ user: String = "ada", app: String = "drop") async -> String {
        await prompt.run("token", "--key", files.key, "--app", app, "--user", user).output
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Replaces the key by another, which ends the tokens of the first.
    func changeKeys() async {
        unlink(files.key)
        unlink(files.set)
        _ = await prompt.run("keys", "tokens", "--out", files.key, "--set", files.set)
        child.hangUp()
    }

    func end() async -> ChildExit {
        child.terminate()
        return await child.ending()
    }

    /// Returns the status of a GET request.
    static func get(_ url: String, _ token: String?) async throws -> Int {
        let call = PlainCall(url, headers: token.map { ["Authorization: Bearer \($0)"] } ?? [])
        return try await #require(call).answer().status
    }

    /// Returns the address in a service's log line about listening.
    private static func address(_ service: String, in log: String) -> String? {
        let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.contains("\"listening\"") && $0.contains("\"\(service)\"") }
        return line?.firstMatch(of: /http:\/\/[0-9.:]+/).map { String($0.0) }
    }
}
