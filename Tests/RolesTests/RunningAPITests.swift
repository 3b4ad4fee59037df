import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

/// Tests of the real program on real servers, for behaviour that no call inside the process can show.
@Suite(
    "bellhop api",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && RunningPool.isBuilt, "needs BELLHOP_DATABASE_URL and the program"),
    .timeLimit(.ofTest)
)
struct RunningAPITests {
    private static let schemathesis = ProcessInfo.processInfo.environment["BELLHOP_SCHEMATHESIS"]

    @Test("the API serves signed-in users with the rights of bellhop_api, loads new keys and drains at SIGTERM")
    func lifetime() async throws {
        try await ServerFixture.withSchema(catalogs: try ServerFixture.shipped()) { servers in
            try await CommandFolder.with { folder in
                let api = try await RunningAPI(on: servers, in: folder)
                let token = await api.token()
                let first = try await RunningAPI.get("\(api.address)/api/settings", token)
                #expect(first == 200)
                let unsigned = try await RunningAPI.get("\(api.address)/api/settings", nil)
                #expect(unsigned == 401)
                // As long as a token may be: it is read and rejected as invalid.
                let long = String(repeating: "x", count: 8 * 1_024)
                #expect(try await RunningAPI.get("\(api.address)/api/settings", long) == 401)
                #expect(try await RunningAPI.get("\(api.address)/api/settings", long + long) == 431)
                let ready = try await RunningAPI.get("\(api.probe)/readyz", nil)
                #expect(ready == 200)
                let name = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bellhop api'"
                #expect(try await servers.count(name) > 0)
                await api.changeKeys()
                try await eventually("the old token is refused") {
                    try await RunningAPI.get("\(api.address)/api/settings", token) == 401
                }
                let ending = await api.end()
                #expect(ending == .exited(0))
            }
        }
    }

    @Test("a file of issuers takes the place of a key set, and is read again after a change")
    func issuers() async throws {
        try await ServerFixture.withSchema(catalogs: try ServerFixture.shipped()) { servers in
            try await CommandFolder.with { folder in
                let file = folder.appendingPathComponent("sign-in.json5")
                func write(app: String) throws {
                    let entry = #"{issuer: "https://id.example", audience: "club", keys: "set", app: "\#(app)"}"#
                    try Data("{issuers: [\(entry)]}".utf8).write(to: file)
                }
                try write(app: "drop")
                let settings = [
                    "BELLHOP_JWT_KEYS": "", "BELLHOP_SIGN_IN": file.path, "BELLHOP_JWT_AUDIENCE": "club",
                    "BELLHOP_JWT_ISSUER": "https://id.example",
                ]
                let api = try await RunningAPI(on: servers, in: folder, with: settings)
                let token = await api.token()
                let first = try await RunningAPI.get("\(api.address)/api/settings", token)
                #expect(first == 200)
                try write(app: "padel")
                api.child.hangUp()
                try await eventually("the token of another app is refused") {
                    try await RunningAPI.get("\(api.address)/api/settings", token) == 401
                }
                let ending = await api.end()
                #expect(ending == .exited(0))
            }
        }
    }

    @Test("an open stream shows another process's announcement and ends when the process drains")
    func live() async throws {
        try await ServerFixture.withSchema(catalogs: try ServerFixture.shipped()) { servers in
            try await CommandFolder.with { folder in
                let api = try await RunningAPI(on: servers, in: folder)
                let token = await api.token()
                let heard = folder.appendingPathComponent("heard").path
                let reader = try RealProgram(Prompt(environment: [:])).start(
                    """
                    exec curl -sN -m 240 -H 'Authorization: Bearer \(token)' \
                        '\(api.address)/api/notifications/stream' >'\(heard)'
                    """
                )
                func text() -> String { (try? String(contentsOfFile: heard, encoding: .utf8)) ?? "" }
                try await eventually("the stream begins") { text().contains("event: badge") }
                let id = "noti_00000000000000aa"
                _ = try await servers.owner.run(
                    """
                    INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                    VALUES ('drop', 'ada', $1, 'e', '', 'system', 'Hei', '', 'normal')
                    """,
                    [.text(id)]
                )
                let app = try #require(AppID(validating: "drop"))
                let user = try #require(UserID(validating: "ada"))
                let book = ListenerStore(pool: servers.pool, namespace: servers.namespace)
                try await eventually("it reports that it listens") { try await book.isHeard() }
                try await book.announce([UserHash(UserKey(app: app, user: user))])
                try await eventually("it is told") { text().contains(id) }
                let ending = await api.end()
                #expect(ending == .exited(0))
                let last = await reader.ending()
                #expect(last == .exited(0), "the stream ended in good order")
                let isHeard = try await book.isHeard()
                #expect(!isHeard)
            }
        }
    }

    @Test(
        "the API answers any request as documented in docs/openapi.yaml, and never with a 5xx",
        .enabled(if: schemathesis != nil, "needs BELLHOP_SCHEMATHESIS, which deploy/test sets where it can")
    )
    func documented() async throws {
        let program = try #require(Self.schemathesis)
        try await ServerFixture.withSchema(catalogs: try ServerFixture.shipped()) { servers in
            try await CommandFolder.with { folder in
                let rates = ["BELLHOP_API_RATE": "user=off,address=off"]
                let api = try await RunningAPI(on: servers, in: folder, with: rates)
                let token = await api.token()
                let words = [
                    "run", Checkout.file("docs/openapi.yaml").path, "--url", api.address,
                    "--header", "Authorization: Bearer \(token)", "--checks", Self.checks,
                    // One thread: two that parse their own sources at the same time can make Python 3.11 fail.
                    "--phases", "examples,coverage,fuzzing", "--max-examples", "20", "--workers", "1",
                    // The same calls in every run.
                    "--seed", "1", "--generation-deterministic", "--no-color",
                    "--exclude-path", "/api/notifications/stream", "--request-timeout", "10", "--suppress-health-check",
                    "all", "--warnings", "off",
                ]
                let line = ([program] + words).map { "'\($0)'" }.joined(separator: " ")
                let report = folder.appendingPathComponent("report").path
                let run = try RealProgram(Prompt(environment: [:])).start(
                    "cd '\(folder.path)' && exec \(line) >'\(report)' 2>&1"
                )
                let ending = await run.ending()
                let said = (try? String(contentsOfFile: report, encoding: .utf8)) ?? ""
                #expect(ending == .exited(0), "\(said.suffix(8_000))")
                let last = await api.end()
                #expect(last == .exited(0))
            }
        }
    }

    private static let checks = [
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
        "response_headers_conformance",
    ].joined(separator: ",")
}
