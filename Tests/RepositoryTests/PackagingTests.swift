import BellhopRules
import CommandLineSupport
import Foundation
import Sandbox
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import CLI
@testable import Commands
@testable import Roles

/// The files that are delivered with the program must match this release.
@Suite("deploy/prometheus, grafana, systemd and kubernetes")
struct PackagingTests {
    private static let known = Set(
        Setting.all.flatMap { setting in
            [setting.environmentName] + (setting.inFile.map { [$0.environmentName] } ?? [])
        }
    )

    @Test(
        "every metric in the file is registered",
        arguments: ["deploy/grafana/bellhop.json", "deploy/prometheus/alerts.yml", "deploy/prometheus/alerts.test.yml"]
    )
    func metrics(path: String) throws {
        let named = MetricNames.names(in: try Checkout.text(path))
        #expect(named.count > 8)
        #expect(named.subtracting(try MetricNames().series).sorted() == [])
    }

    @Test("every alert has a runbook that names it, and a test")
    func runbooks() throws {
        let rules = try Checkout.text("deploy/prometheus/alerts.yml")
        let tests = try Checkout.text("deploy/prometheus/alerts.test.yml")
        let alerts = rules.components(separatedBy: "- alert: ").dropFirst()
        #expect(alerts.count > 10)
        for alert in alerts {
            let name = String(alert.prefix { $0 != "\n" })
            let match = try #require(
                alert.firstMatch(of: /runbook_url: \S+\/(docs\/runbooks\/[a-z-]+\.md)\n/),
                "\(name)"
            )
            let page = try Checkout.text(String(match.output.1))
            #expect(page.contains(name), "\(name)")
            #expect(tests.contains("alertname: \(name)\n"), "\(name)")
        }
    }

    @Test("the alerts fire when they should, and not before", .enabled(if: Promtool.isThere, Promtool.absence))
    func alerts() throws {
        let folder = Checkout.file("deploy/prometheus")
        let tested = try Promtool.run(["test", "rules", folder.appendingPathComponent("alerts.test.yml").path])
        #expect(tested == "")
        let checked = try Promtool.run(["check", "config", folder.appendingPathComponent("prometheus.yml").path])
        #expect(checked == "")
    }

    @Test("every panel of the dashboard has a query and a description")
    func dashboard() throws {
        let bytes = [UInt8](try Checkout.text("deploy/grafana/bellhop.json").utf8)
        let panels = try #require(try JSONParser().parse(bytes).get()["panels"]?.array)
        let shown = panels.filter { $0["type"]?.string != "row" }
        #expect(shown.count > 15)
        for panel in shown {
            let title = panel["title"]?.string ?? ""
            #expect(panel["targets"]?.array?.isEmpty == false, "\(title)")
            #expect(panel["description"]?.string?.isEmpty == false, "\(title)")
        }
    }

    /// Returns the files of a folder and its subfolders.
    private func files(_ folder: String, _ kinds: Set<String>) throws -> [(name: String, text: String)] {
        let found = FileManager.default.enumerator(at: Checkout.file(folder), includingPropertiesForKeys: nil)
        var files: [(name: String, text: String)] = []
        while let file = found?.nextObject() as? URL {
            guard kinds.contains(file.pathExtension) else { continue }
            files.append((file.lastPathComponent, try String(contentsOf: file, encoding: .utf8)))
        }
        return files
    }

    @Test(
        "units and manifests name only settings and commands of this release",
        arguments: [("deploy/systemd", ["service", "env"]), ("deploy/kubernetes", ["yaml"])] as [(String, Set<String>)]
    )
    func names(folder: String, kinds: Set<String>) throws {
        let files = try files(folder, kinds)
        #expect(files.count > 3)
        let commands = Set(CommandLineTool.whole.commands.map { $0.name })
        for file in files {
            let settings = Set(file.text.matches(of: /BELLHOP_[A-Z0-9_]+/).map { String($0.output) })
            #expect(settings.subtracting(Self.known).sorted() == [], "\(file.name)")
            let started = file.text.matches(of: /\/usr\/bin\/bellhop ([a-z-]+)/).map { String($0.output.1) }
            let contained = file.text.matches(of: /args: \[([a-z-]+)\]/).map { String($0.output.1) }
            let chained = file.text.matches(of: /[" ]bellhop ([a-z-]+) &&/).map { String($0.output.1) }
            #expect(Set(started + contained + chained).subtracting(commands).sorted() == [], "\(file.name)")
        }
    }

    /// The roles with a package.
    ///
    /// A pool and `up` run roles on one host, and the sandbox is not delivered.
    private static let roles = CommandLineTool.whole.commands.filter { $0.isRole }.map { $0.name }
        .filter { ![PoolCommand.name, UpCommand.name, SandboxCommand.name].contains($0) }

    @Test(
        "every role has a packaged unit, a service, a deployment and a Prometheus job",
        arguments: PackagingTests.roles
    )
    func role(name: String) throws {
        let unit = name == WorkerCommand.name ? PoolCommand.name : name
        let unitName = "bellhop-\(unit).service"
        let places = [
            ("deploy/systemd/\(unitName)", "ExecStart=/usr/bin/bellhop \(unit)"),
            ("deploy/deb/scripts/postinst", unitName),
            ("deploy/deb/scripts/prerm", unitName),
            ("docs/installing.md", "| `bellhop-\(unit)` |"),
            ("docker-compose.yml", "\n  \(name):\n"),
            ("deploy/kubernetes/base/\(name).yaml", "args: [\(name)]"),
            ("deploy/kubernetes/base/kustomization.yaml", "- \(name).yaml\n"),
            ("deploy/prometheus/prometheus.yml", "job_name: bellhop-\(name)\n"),
        ]
        for (path, words) in places {
            let text = try Checkout.text(path)
            #expect(text.contains(words), "\(path)")
        }
    }

    @Test("every systemd service has the limits that all share")
    func limits() throws {
        let units = try files("deploy/systemd", ["service"])
        let limits = units.map { $0.text.split(separator: "# The limits of the process").last ?? "" }
        let sets = Set(
            limits.map { $0.split(separator: "\n[Install]").first ?? "" }.map { $0.trimmingCharacters(in: .newlines) }
        )
        #expect(sets.count == 1)
        #expect(sets.first?.contains("NoNewPrivileges=yes") == true)
    }
}
