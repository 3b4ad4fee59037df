import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

/// Prometheus's rules for names, applied to every metric.
@Suite("Names of metrics")
struct MetricRulesTests {
    @Test("only counters end in _total, units are Prometheus's, and each metric has a help text")
    func names() throws {
        let metrics = try MetricNames().metrics
        #expect(metrics.count > 40)
        let units = ["milliseconds", "minutes", "hours", "kilobytes", "megabytes", "percent"]
        for metric in metrics {
            #expect(metric.name.hasSuffix("_total") == (metric.kind == "counter"), "\(metric.name)")
            #expect(!metric.help.isEmpty, "\(metric.name)")
            let parts = metric.name.split(separator: "_").map { String($0) }
            #expect(Set(parts).intersection(units).isEmpty, "\(metric.name)")
        }
    }

    @Test("docs/metrics.md has a row for each metric and for no other")
    func documented() throws {
        let table = try Checkout.text("docs/metrics.md").split(separator: "\n").filter { $0.hasPrefix("| `bellhop_") }
        let said = table.reduce(into: Set<String>()) { $0.formUnion(MetricNames.names(in: String($1))) }
        let registered = Set(try MetricNames().metrics.map { $0.name })
        #expect(registered.subtracting(said).sorted() == [])
        #expect(said.subtracting(registered).sorted() == [])
    }

    @Test("promtool has no complaint about any metric", .enabled(if: Promtool.isThere, Promtool.absence))
    func promtool() throws {
        let text = try MetricNames().metrics.map { metric in
            let (lead, name) = (
                "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind)\n", metric.name
            )
            guard metric.kind == "histogram" else { return lead + "\(name) 1\n" }
            return lead + "\(name)_bucket{le=\"+Inf\"} 1\n\(name)_sum 1\n\(name)_count 1\n"
        }
        let verdict = try Promtool.run(["check", "metrics"], input: text.joined())
        #expect(verdict == "")
    }
}

/// Real roles on real servers, queried as Prometheus does.
@Suite(
    "Metrics of roles",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere && RunningPool.isBuilt, BothServers.absence),
    .enabled(if: Promtool.isThere, Promtool.absence),
    .timeLimit(.ofTest)
)
struct RoleMetricsTests {
    @Test(
        "promtool has no complaint about the metrics of any role",
        arguments: ["worker", "scheduler", "api", "console"]
    )
    func scraped(role: String) async throws {
        try await ServerFixture.withTopology(catalogs: try ServerFixture.shipped()) { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                var prompt = prompt
                let keys = folder.appendingPathComponent("keys.json").path
                _ = await prompt.run(
                    "keys",
                    "tokens",
                    "--out",
                    folder.appendingPathComponent("key").path,
                    "--set",
                    keys
                )
                let operators = folder.appendingPathComponent("operators.json").path
                _ = await prompt.run("keys", "operator", "--name", "ada", "--set", operators)
                let settings = [
                    "BELLHOP_OPERATORS": operators, "BELLHOP_CONSOLE_LISTEN": "127.0.0.1:0",
                    "BELLHOP_JWT_KEYS": keys, "BELLHOP_API_LISTEN": "127.0.0.1:0", "BELLHOP_LOG": "info,json",
                ]
                prompt.environment.merge(settings) { $1 }
                prompt.environment["BELLHOP_CATALOGS"] = Checkout.file("deploy/catalogs").path
                let log = folder.appendingPathComponent("log").path
                let child = try RealProgram(prompt).start("exec '\(RunningPool.executable)' \(role) 2>'\(log)'")
                defer { child.kill() }
                try await eventually("it listens") { Self.endpoint(in: log) != nil }
                let call = try #require(Self.endpoint(in: log).flatMap { PlainCall($0 + "/metrics") })
                let text = try await call.answer().text
                #expect(text.contains("bellhop_process_start_time_seconds"))
                let verdict = try Promtool.run(["check", "metrics"], input: text)
                #expect(verdict == "")
                child.terminate()
                let ending = await child.ending()
                #expect(ending == .exited(0))
            }
        }
    }

    private static func endpoint(in log: String) -> String? {
        let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.contains("\"listening\"") && $0.contains("operations endpoint") }
        return line?.firstMatch(of: /http:\/\/[0-9.:]+/).map { String($0.0) }
    }
}

/// Prometheus's tool, if it is installed (Debian's package prometheus).
enum Promtool {
    private static let path = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first(
        where: FileManager.default.isExecutableFile
    )
    static let isThere = path != nil
    static let absence: Comment = "promtool is not installed"

    /// Returns the tool's complaints; empty if it exits with 0.
    static func run(_ words: [String], input: String = "") throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("promtool"))
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(input.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(path))
        process.arguments = words
        process.standardInput = try FileHandle(forReadingFrom: file)
        let complaints = Pipe()
        process.standardOutput = complaints
        process.standardError = complaints
        try process.run()
        let said = String(decoding: try complaints.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? "" : said + "ended with \(process.terminationStatus)"
    }
}
