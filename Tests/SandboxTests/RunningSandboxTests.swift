import BellhopRules
import CommandLineSupport
import Foundation
import ServiceRuntime
import Testing
import TestSupport

@Suite(
    "Running sandbox",
    .limitedConcurrency,
    .enabled(if: RunningPool.isBuilt, "needs the program bellhop beside the tests: swift build"),
    .timeLimit(.ofTest)
)
struct RunningSandboxTests {
    private struct Line: Decodable {
        let message: String
        let service: String?
        let address: String?
    }

    /// Returns the addresses in the log of `bellhop sandbox` by service, once the control port is logged.
    private func addresses(_ words: [String], in folder: URL) async throws -> [String: Set<String>] {
        let log = folder.appendingPathComponent("log").path
        let listens = ["listen", "apns", "apns-sandbox", "smtp", "smtps", "control"].map { "--\($0) 127.0.0.1:0" }
        let script = "exec '\(RunningPool.executable)' sandbox \((listens + words).joined(separator: " ")) 2>'\(log)'"
        let program = ChildProgram(
            path: "/bin/sh",
            arguments: ["-c", script],
            environment: ["BELLHOP_LOG": "info,json", "PATH": "/usr/bin:/bin"]
        )
        let child = try ChildProcess(program, lifeline: ParentExitMonitor())
        defer { child.kill() }
        var lines: [Line] = []
        try await eventually("there is word of the control port") {
            lines = try read(log)
            return lines.contains { $0.service == "control" }
        }
        child.terminate()
        #expect(await child.ending() == .exited(0))
        return lines.reduce(into: [:]) { found, line in
            if let service = line.service { found[service, default: []].insert(line.address ?? "") }
        }
    }

    /// Returns the complete lines of a log so far.
    private func read(_ file: String) throws -> [Line] {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
    }

    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("sandbox"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test("the log names every endpoint, and the files contain the data that a sender to each needs")
    func namesEndpoints() async throws {
        try await inFolder { folder in
            func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
            let found = try await addresses(
                [
                    "--ca-out", file("ca.pem"), "--service-account-out", file("account.json"),
                    "--apns-key", file("key.p8"), "--subscription-out", file("browser.json"),
                ],
                in: folder
            )
            let expected: Set = ["fcm", "oauth", "expo", "webpush", "apns", "apns-sandbox", "email", "control"]
            #expect(Set(found.keys) == expected)
            #expect(found["email"]?.map { String($0.prefix(8)) }.sorted() == ["smtp://1", "smtps://"])
            #expect(Set(["fcm", "apns", "apns-sandbox"].compactMap { found[$0]?.first }).count == 3)
            #expect(try String(contentsOfFile: file("key.p8"), encoding: .utf8).contains("PRIVATE KEY"))
            let browser = try Data(contentsOf: URL(fileURLWithPath: file("browser.json")))
            let object = try JSONParser().parse([UInt8](browser)).get()
            let endpoint = try #require(object["endpoint"]?.string)
            #expect(endpoint.hasPrefix(try #require(found["webpush"]?.first) + "/"))
            #expect(object["keys"]?["p256dh"]?.string?.isEmpty == false)
            let rights = try FileManager.default.attributesOfItem(atPath: file("browser.json"))
            #expect(rights[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("an unchecked sandbox names neither Expo nor browsers, which it cannot answer")
    func namesLessUnchecked() async throws {
        try await inFolder { folder in
            let found = try await addresses(["--unchecked"], in: folder)
            #expect(Set(found.keys) == ["fcm", "oauth", "apns", "apns-sandbox", "email", "control"])
        }
    }
}
