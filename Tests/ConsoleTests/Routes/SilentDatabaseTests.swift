import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

@testable import Console

@Suite(
    "The console with a database that does not answer",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct SilentDatabaseTests {
    @Test("every page and act reports the timeout and the remedy, and the status still shows the broker")
    func pages() async throws {
        let (proxy, url) = try TCPProxy.beforeDatabase()
        defer { proxy.stop() }
        try await ConsoleFixture.with(environment: ["BELLHOP_DATABASE_URL": url]) { console in
            let person = try await console.signIn()
            let before = try await console.call("GET", "/api/groups", as: person)
            #expect(before.status == 200)
            proxy.blackHole(true)
            let paths = [
                "groups", "letters", "letter?item=a", "forecast", "replays", "audit", "fanouts", "holds", "retries",
                "providers",
                "explain?app=drop&user=u&event=e",
            ]
            try await withThrowingTaskGroup(of: (String, ConsoleFixture.Answer).self) { group in
                for path in paths {
                    group.addTask { (path, try await console.call("GET", "/api/\(path)", as: person)) }
                }
                let order: JSONValue = ["options": ["all": true]]
                group.addTask { ("act", try await console.call("POST", "/api/acts/discard", order, as: person)) }
                for try await (path, answer) in group {
                    #expect(answer.status == 503, "\(path): \(answer)")
                    #expect(answer.message.contains("answered nothing for 6s"), "\(path): \(answer.message)")
                    #expect(answer.message.contains("bring the database back"), "\(path): \(answer.message)")
                }
            }
            let status = try await console.call("GET", "/api/status", as: person)
            #expect(status.status == 200)
            #expect(status["database"]?["reached"] == false && status["broker"]?["reached"] == true)
        }
    }
}
