import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

@testable import Console
@testable import Roles

@Suite(
    "Explanations in the console",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ExplainRouteTests {
    @Test("an invalid question is rejected and names the field")
    func fields() async throws {
        try await ConsoleFixture.with { console in
            let person = try await console.signIn()
            let wrong = [
                ("user=ada&event=e", "app"), ("app=drop&event=e", "user"),
                ("app=drop&user=ada&item=noti_1", "items"), ("app=Drop&user=ada&event=e", "app"),
                ("app=drop&user=ada&event=e&item=noti_1c0d30af6f555b13", "items"), ("app=drop&by=ada", "by"),
            ]
            for (query, field) in wrong {
                let answer = try await console.call("GET", "/api/explain?\(query)", as: person)
                #expect(answer.status == 422 && answer.code == "invalid-field", "\(query): \(answer)")
                #expect(answer["error"]?["field"]?.string == field, "\(query): \(answer)")
            }
        }
    }

    @Test("a notification that Bellhop does not know is an answer, the same as the command's")
    func unknown() async throws {
        try await ConsoleFixture.with { console in
            let person = try await console.signIn()
            let query = "app=drop&user=ada&item=noti_1c0d30af6f555b13"
            let answer = try await console.call("GET", "/api/explain?\(query)", as: person)
            #expect(answer.status == 200 && answer["found"] == false)
            let words = ["explain", "--app", "drop", "--user", "ada", "noti_1c0d30af6f555b13", "--json"]
            let printed = await console.command(words)
            #expect(printed.exitCode == .answerIsNo)
            #expect(Golden.masked(printed.output) == Golden.masked(answer.json.written))
        }
    }

    @Test("a viewer sees a user's notifications without their texts")
    func masked() async throws {
        try await ConsoleFixture.with { console in
            _ = try await console.servers.owner.run(
                """
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                VALUES ('drop', 'ada', 'noti_0000000000000001', 'e1', '', 'security', 'Secret', 'Hidden', 'high')
                """
            )
            let viewer = try await console.signIn(.viewer)
            let shown = try await console.call("GET", "/api/user?app=drop&user=ada", as: viewer)
            #expect(shown.status == 200, "\(shown)")
            #expect(shown["notifications"]?.array?.first?["eventId"] == "e1", "\(shown)")
            #expect(!shown.json.written.contains("Secret") && !shown.json.written.contains("Hidden"), "\(shown)")
            let personal = try await console.call("GET", "/api/explain?app=drop&user=ada", as: viewer)
            #expect(personal.status == 403, "\(personal)")
            let person = try await console.signIn()
            let full = try await console.call("GET", "/api/explain?app=drop&user=ada", as: person)
            #expect(full["notifications"]?.array?.first?["title"] == "Secret", "\(full)")
        }
    }

    @Test("catalogues with a fault do not prevent an explanation")
    func catalogs() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("catalogs"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("{".utf8).write(to: folder.appendingPathComponent("drop.json5"))
        try await ConsoleFixture.with(environment: ["BELLHOP_CATALOGS": folder.path]) { console in
            let person = try await console.signIn()
            let answer = try await console.call("GET", "/api/explain?app=drop&user=ada&event=e", as: person)
            #expect(answer.status == 200 && answer["found"] == false, "\(answer)")
            let overview = try await console.call("GET", "/api/explain?app=drop&user=ada", as: person)
            #expect(overview.status == 200, "\(overview)")
        }
    }
}
