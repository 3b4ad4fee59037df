import CommandLineSupport
import Foundation
import ServiceRuntime
import Settings
import TestSupport
import Testing

@testable import CLI

/// The files that start Bellhop in containers must match this release.
@Suite("docker-compose.yml and deploy/Dockerfile")
struct ComposeTests {
    /// The permitted names in an environment: every setting and, for secrets, the variable of their file.
    private static let known = Set(
        Setting.all.flatMap { setting in
            setting.isSecret ? [setting.environmentName, setting.environmentName + "_FILE"] : [setting.environmentName]
        }
    )

    private func text(_ path: String) throws -> String {
        try Checkout.text(path)
    }

    private func names(in text: String) -> Set<String> {
        Set(text.matches(of: /BELLHOP_[A-Z0-9_]+/).map { String($0.output) })
    }

    @Test("every setting in the file is known", arguments: ["docker-compose.yml", "deploy/Dockerfile"])
    func namesKnownSettings(path: String) throws {
        let named = names(in: try text(path))
        #expect(named.contains(Setting.metricsListen.environmentName))
        #expect(named.subtracting(Self.known) == [])
    }

    @Test(
        "a file with a proxy in front of the API and the console names the proxy",
        arguments: [
            "docker-compose.yml", "deploy/kubernetes/overlays/development/kustomization.yaml",
            "deploy/kubernetes/overlays/production/kustomization.yaml", "deploy/systemd/bellhop.env",
            "docs/installing.md",
        ]
    )
    func namesProxies(path: String) throws {
        let named = names(in: try text(path))
        #expect(named.contains(Setting.apiProxies.environmentName))
    }

    @Test("every service of the image runs a command of this release")
    func runsKnownCommands() throws {
        let compose = try text("docker-compose.yml")
        let inline = compose.matches(of: /command: \["([a-z]+)"\]/).map { String($0.output.1) }
        let listed = compose.matches(of: /command:\n +- ([a-z]+)\n/).map { String($0.output.1) }
        let chained = compose.matches(of: /bellhop ([a-z-]+)(?= &&|"| apply)/).map { String($0.output.1) }
        let known = Set(CommandLineTool.whole.commands.map { $0.name })
        let named = Set(inline + listed + chained)
        #expect(
            named.isSuperset(of: ["worker", "scheduler", "sandbox", "migrate", "topology"])
        )
        #expect(named.subtracting(known).isEmpty)
    }

    @Test("the worker containers use the sandbox that the providers' file names")
    func reachesTheSandbox() throws {
        let providers = try text("deploy/container/providers.json5")
        let compose = try text("docker-compose.yml")
        let ports = Set(providers.matches(of: /:\/\/sandbox:([0-9]+)/).map { String($0.output.1) })
        #expect(compose.contains("--host=sandbox\n"))
        #expect(ports == ["8443", "8445", "8446", "8447"])
        for port in ports { #expect(compose.contains("=0.0.0.0:\(port)\n")) }
        let files = Set(providers.matches(of: /"(\/var\/lib\/bellhop\/[^"]+)"/).map { String($0.output.1) })
        let written = files.filter { $0.contains("/sandbox/") }
        #expect(written.count == 3)
        for file in written { #expect(compose.contains("=\(file)\n")) }
        // The other files are Bellhop's and are made by the service setup.
        let made = files.subtracting(written).compactMap { $0.split(separator: "/").last }
        #expect(made.count == 3)
        for name in made { #expect(compose.contains(name)) }
    }

    @Test("the composition's sandbox emulates every provider of an app")
    func everyProvider() throws {
        let providers = try text("deploy/container/providers.json5")
        for name in ["apns", "fcm", "expo", "webpush", "email"] { #expect(providers.contains("    \(name): {")) }
        let file = Checkout.file("deploy/container/providers.json5").path
        let apps = providers.matches(of: /\n  ([a-z]+): \{/).map { String($0.output.1) }
        #expect(apps == ["drop", "safe", "venues", "padel", "daily"], "\(file)")
    }
}
