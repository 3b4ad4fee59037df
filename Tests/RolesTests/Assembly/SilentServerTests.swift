import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@Suite(
    "Servers that do not answer",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct SilentServerTests {
    @Test("a silent database is reported with the question, the wait and advice")
    func database() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let (proxy, url) = try TCPProxy.beforeDatabase()
                defer { proxy.stop() }
                proxy.blackHole(true)
                let prompt = prompt.with("BELLHOP_DATABASE_URL", url)
                async let status = prompt.run("status", "--json")
                async let holds = prompt.run("hold", "list")
                async let fanouts = prompt.run("fanouts", "list")
                async let letters = prompt.run("dead-letters", "groups")
                let seen = await status
                #expect(seen.code == .unavailable)
                #expect(seen.output.contains(#""broker":{"reached":true"#), "\(seen.output)")
                let words = "the database cannot be asked: Connecting to PostgreSQL failed (no answer"
                #expect(seen.output.contains(words), "\(seen.output)")
                #expect(seen.output.contains("see docs/runbooks/database.md"))
                let asked = [("hold list", await holds), ("fanouts list", await fanouts), ("groups", await letters)]
                for (words, answer) in asked {
                    #expect(answer.code == .unavailable)
                    #expect(answer.complaints.contains(words), "\(answer.complaints)")
                    #expect(answer.complaints.contains("no answer within 5000 ms"), "\(answer.complaints)")
                    #expect(answer.complaints.contains("bring the database back"), "\(answer.complaints)")
                }
            }
        }
    }

    @Test("a silent broker leaves a status with the database's figures")
    func broker() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let parts = URLComponents(string: Servers.amqpURL ?? "")
                let proxy = try TCPProxy(to: parts?.host ?? "127.0.0.1", parts?.port ?? 5672)
                defer { proxy.stop() }
                proxy.blackHole(true)
                // A URL that permits minutes for a connection does not make an operator wait.
                let url = proxy.url(replacingHostOf: Servers.amqpURL ?? "") + "?connection_timeout=600000"
                let seen = await prompt.with("BELLHOP_AMQP_URL", url).run("status", "--json")
                #expect(seen.code == .unavailable)
                #expect(seen.output.contains("the broker cannot be asked: it has answered nothing for 6 s"))
                #expect(seen.output.contains(#""database":{"reached":true"#), "\(seen.output)")
            }
        }
    }
}
