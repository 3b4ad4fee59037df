import BellhopJSON
import Foundation
import IntegrationSupport
import Postgres
import Store
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
        try await Self.withFaultyCatalogs { console, _ in
            let person = try await console.signIn()
            let answer = try await console.call("GET", "/api/explain?app=drop&user=ada&event=e", as: person)
            #expect(answer.status == 200 && answer["found"] == false, "\(answer)")
            let overview = try await console.call("GET", "/api/explain?app=drop&user=ada", as: person)
            #expect(overview.status == 200, "\(overview)")
        }
    }
    @Test("catalogues with a fault are those of the console in its status, and their first fault ends a dry run")
    func faultyCatalogs() async throws {
        try await Self.withFaultyCatalogs([DeadLetterSamples.rejected("l1")]) { console, folder in
            let person = try await console.signIn()
            let status = try await console.call("GET", "/api/status", as: person)
            let problems = status.json.written
            #expect(problems.contains("the console's catalogues cannot be read"), "\(problems)")
            #expect(!problems.contains("this shell"), "\(problems)")
            let forecast = try await console.call("GET", "/api/forecast", as: person)
            #expect(forecast.status == 500 && forecast.code == "failed", "\(forecast)")
            let message = forecast["error"]?["message"]?.string ?? ""
            let fault = "the catalogues in \(folder) have a fault: drop.json5:"
            let words = "replay items: no outcome can be predicted: \(fault)"
            #expect(message.hasPrefix(words), "\(message)")
            #expect(!message.contains(#"\n"#), "\(message)")
        }
    }

    @Test(
        "the status names the console's catalogues if no process uses them, whether or not the topology fits them",
        arguments: [
            (
                "drop.json5",
                "all processes use former: if the console's are the new ones, SIGHUP all processes; otherwise deploy the "
                    + "running files to the console"
            ),
            (
                "padel.json5",
                "worker h[7] has former: if the console's are the new ones, run bellhop topology apply, then SIGHUP again "
                    + "to all processes; otherwise deploy the running files to the console, and do not run topology apply"
            ),
        ]
    )
    func otherCatalogs(_ file: String, _ advice: String) async throws {
        try await ServerFixture.withTopology { servers in
            try await Self.withFolder { folder in
                let shipped = Checkout.file("deploy/catalogs").appendingPathComponent(file)
                try FileManager.default.copyItem(at: shipped, to: folder.appendingPathComponent(file))
                try await ConsoleFixture.with(servers, ["BELLHOP_CATALOGS": folder.path]) { console in
                    let identity = Heartbeat.Identity(id: "w1", role: "worker", version: "1", host: "h", process: 7)
                    try await HeartbeatStore(pool: servers.pool).announce(Heartbeat(identity, catalogs: "former"))
                    _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
                    let status = try await console.call("GET", "/api/status", as: try await console.signIn())
                    let problems = status.json.written
                    #expect(problems.contains(advice), "\(problems)")
                    #expect(problems.contains("the console's catalogues are "), "\(problems)")
                    #expect(!problems.contains("this shell"), "\(problems)")
                }
            }
        }
    }

    @Test("a question without an app is about the only app that has data of the user")
    func onlyApp() async throws {
        try await ConsoleFixture.with { console in
            let person = try await console.signIn()
            let added = "INSERT INTO recipients (app, user_id, source_time) VALUES ('drop', 'ada', now())"
            _ = try await console.servers.owner.run(Statement(added))
            for operation in ["user", "explain"] {
                let found = try await console.call("GET", "/api/\(operation)?user=ada", as: person)
                #expect(found.status == 200 && found["app"] == "drop", "\(found)")
            }
            let unknown = try await console.call("GET", "/api/user?user=bo", as: person)
            #expect(unknown.status == 422 && unknown["error"]?["field"] == "app", "\(unknown)")
        }
    }

    private static func withFaultyCatalogs(
        _ letters: [DeadLetterItem] = [],
        _ body: @escaping @Sendable (ConsoleFixture, String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            try Data("{".utf8).write(to: folder.appendingPathComponent("drop.json5"))
            try await ConsoleFixture.with(letters, environment: ["BELLHOP_CATALOGS": folder.path]) { console in
                try await body(console, folder.path)
            }
        }
    }

    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("catalogs"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }
}
