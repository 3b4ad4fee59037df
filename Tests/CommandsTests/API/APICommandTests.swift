import API
import BellhopRules
import Foundation
import FoundationNetworking
import ServiceRuntime
import Store
import TestSupport
import Testing
import Workbench

@testable import Commands

@Suite("bellhop token, and keys for it")
struct TokenCommandTests {
    @Test("a token of a key that was made is accepted by the set beside it, with the audience and issuer configured")
    func accepted() async throws {
        try await Workplace.with { folder in
            let (key, set) = (
                folder.appendingPathComponent("key.pem").path, folder.appendingPathComponent("set.json").path
            )
            #expect(await Prompt().run("keys", "tokens", "--out", key, "--set", set).code == .done)
            let rights = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
            #expect(rights == 0o600)
            let prompt = Prompt(environment: ["BELLHOP_JWT_AUDIENCE": "inbox", "BELLHOP_JWT_ISSUER": "me"])
            let made = await prompt.run("token", "--key", key, "--app", "drop", "--user", "ada", "--valid", "1h")
            #expect(made.code == .done)
            let keys = try TokenKeySet.read(file: set).get()
            let now = Timestamp(clamping: SystemTime().now().microseconds)
            let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let signedIn = try TokenVerifier(audience: "inbox", issuer: "me").check(token, with: keys, at: now).get()
            #expect(signedIn.app.text == "drop" && signedIn.user.text == "ada")
            #expect(
                String(decoding: try Data(contentsOf: URL(fileURLWithPath: set)), as: UTF8.self).contains("\"d\"")
                    == false
            )
        }
    }

    @Test("files that are there stay, and a key that is none is said to be")
    func refused() async throws {
        try await Workplace.with { folder in
            let file = folder.appendingPathComponent("mine").path
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let kept = await Prompt().run("keys", "tokens", "--out", file, "--set", file + ".set")
            #expect(kept.code == .configuration)
            let none = await Prompt().run("token", "--key", file, "--app", "drop", "--user", "ada")
            #expect(none.code == .configuration)
            #expect(await Prompt().run("token", "--key", file, "--app", "drop").code == .usage)
        }
    }

    @Test("check-config says how many token keys there are, and what is wrong with the set")
    func checked() async throws {
        try await Workplace.with { folder in
            let (key, set) = (
                folder.appendingPathComponent("key.pem").path, folder.appendingPathComponent("set.json").path
            )
            _ = await Prompt().run("keys", "tokens", "--out", key, "--set", set)
            let good = await Prompt().with("BELLHOP_JWT_KEYS", set).run("check-config")
            #expect(good.code == .done && good.output.contains("token keys: 1 key"))
            try Data(#"{"keys":[{"kty":"oct","kid":"a","alg":"HS256","k":"c2VjcmV0"}]}"#.utf8)
                .write(to: URL(fileURLWithPath: set))
            let bad = await Prompt().with("BELLHOP_JWT_KEYS", set).run("check-config")
            #expect(bad.code == .configuration)
            #expect(bad.complaints.contains("/keys/0/k"))
        }
    }
}

/// The real program on real servers: what no call inside the process can show.
@Suite(
    "bellhop api",
    .inTurn,
    .enabled(if: Servers.databaseURL != nil && RunningPool.isBuilt, "needs BELLHOP_DATABASE_URL and the program"),
    .timeLimit(.minutes(5))
)
struct RunningAPITests {
    @Test("it serves signed-in users with the rights of bellhop_api, takes new keys, and drains at SIGTERM")
    func lifetime() async throws {
        try await Bench.withSchema(catalogs: try Bench.shipped()) { bench in
            try await Workplace.with { folder in
                let (key, set) = (folder.appendingPathComponent("key").path, folder.appendingPathComponent("set").path)
                let log = folder.appendingPathComponent("log").path
                let prompt = Prompt(environment: [
                    "BELLHOP_DATABASE_URL": Servers.databaseURL ?? "", "BELLHOP_NAMESPACE": "\(bench.namespace)",
                    "BELLHOP_CATALOGS": Checkout.file("deploy/catalogs").path, "BELLHOP_JWT_KEYS": set,
                    "BELLHOP_API_LISTEN": "127.0.0.1:0", "BELLHOP_METRICS_LISTEN": "127.0.0.1:0",
                    "BELLHOP_LOG": "info,json",
                ])
                _ = await prompt.run("keys", "tokens", "--out", key, "--set", set)
                let token = await prompt.run("token", "--key", key, "--app", "drop", "--user", "ada").output
                let child = try RealProgram(prompt).start("exec '\(RunningPool.executable)' api 2>'\(log)'")
                try await eventually("it listens") { Self.address("inbox API", in: log) != nil }
                let address = try #require(Self.address("inbox API", in: log))
                let first = try await Self.get("\(address)/api/settings", token)
                #expect(first == 200)
                let unsigned = try await Self.get("\(address)/api/settings", nil)
                #expect(unsigned == 401)
                let probe = try #require(Self.address("operations endpoint", in: log))
                let ready = try await Self.get("\(probe)/readyz", nil)
                #expect(ready == 200)
                let name = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bellhop api'"
                #expect(try await bench.count(name) > 0)
                // Another key in place of the first: its tokens end with it.
                unlink(key)
                unlink(set)
                _ = await prompt.run("keys", "tokens", "--out", key, "--set", set)
                child.hangUp()
                try await eventually("the old token is refused") {
                    try await Self.get("\(address)/api/settings", token) == 401
                }
                child.terminate()
                let ending = await child.ending()
                #expect(ending == .exited(0))
            }
        }
    }

    @Test("what another process announces is in an open stream, which ends when the process drains")
    func live() async throws {
        try await Bench.withSchema(catalogs: try Bench.shipped()) { bench in
            try await Workplace.with { folder in
                let (key, set) = (folder.appendingPathComponent("key").path, folder.appendingPathComponent("set").path)
                let (log, heard) = (
                    folder.appendingPathComponent("log").path, folder.appendingPathComponent("heard").path
                )
                let prompt = Prompt(environment: [
                    "BELLHOP_DATABASE_URL": Servers.databaseURL ?? "", "BELLHOP_NAMESPACE": "\(bench.namespace)",
                    "BELLHOP_CATALOGS": Checkout.file("deploy/catalogs").path, "BELLHOP_JWT_KEYS": set,
                    "BELLHOP_API_LISTEN": "127.0.0.1:0", "BELLHOP_METRICS_LISTEN": "127.0.0.1:0",
                    "BELLHOP_LOG": "info,json",
                ])
                _ = await prompt.run("keys", "tokens", "--out", key, "--set", set)
                let made = await prompt.run("token", "--key", key, "--app", "drop", "--user", "ada").output
                let token = made.trimmingCharacters(in: .whitespacesAndNewlines)
                let api = try RealProgram(prompt).start("exec '\(RunningPool.executable)' api 2>'\(log)'")
                try await eventually("it listens") { Self.address("inbox API", in: log) != nil }
                let url = "\(try #require(Self.address("inbox API", in: log)))/api/notifications/stream"
                let reader = try RealProgram(prompt).start(
                    "exec curl -sN -m 60 -H 'Authorization: Bearer \(token)' '\(url)' >'\(heard)'"
                )
                func text() -> String { (try? String(contentsOfFile: heard, encoding: .utf8)) ?? "" }
                try await eventually("the stream begins") { text().contains("event: badge") }
                let id = "noti_00000000000000aa"
                _ = try await bench.owner.run(
                    """
                    INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                    VALUES ('drop', 'ada', $1, 'e', '', 'system', 'Hei', '', 'normal')
                    """,
                    [.text(id)]
                )
                let app = try #require(AppID(validating: "drop"))
                let user = try #require(UserID(validating: "ada"))
                let book = ListenerBook(pool: bench.pool, namespace: bench.namespace)
                #expect(try await book.isHeard())
                try await book.announce([InboxSign(RecipientKey(app: app, user: user))])
                try await eventually("it is told") { text().contains(id) }
                api.terminate()
                #expect(await api.ending() == .exited(0))
                #expect(await reader.ending() == .exited(0), "the stream ended in good order")
                #expect(try await !book.isHeard())
            }
        }
    }

    /// Where a service says that it listens.
    private static func address(_ service: String, in log: String) -> String? {
        let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.contains("\"listening\"") && $0.contains("\"\(service)\"") }
        return line?.firstMatch(of: /http:\/\/[0-9.:]+/).map { String($0.0) }
    }

    private static func get(_ url: String, _ token: String?) async throws -> Int {
        var request = URLRequest(url: try #require(URL(string: url)))
        if let token {
            let word = token.trimmingCharacters(in: .whitespacesAndNewlines)
            request.setValue("Bearer \(word)", forHTTPHeaderField: "Authorization")
        }
        let (_, response) = try await URLSession.shared.data(for: request)
        return (response as? HTTPURLResponse)?.statusCode ?? 0
    }
}
