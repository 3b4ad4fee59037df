import BellhopJSON
import Foundation
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Console
@testable import Roles

@Suite(
    "Acts in the console",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct DeadLetterActionTests {
    private static let personal =
        #"{"id":"e1","app":"drop","eventType":"system","to":{"user":"u1"},"title":"Secret me","body":"b"}"#

    private static let letters = [
        DeadLetterSamples.rejected("a-letter", failedAt: DeadLetterSamples.ago(300), body: personal),
        DeadLetterSamples.rejected("b-letter", failedAt: DeadLetterSamples.ago(200)),
        DeadLetterSamples.rejected("c-letter", reason: "missing-id", failedAt: DeadLetterSamples.ago(100)),
    ]

    @Test("an answer equals the JSON that the command prints")
    func readings() async throws {
        try await ConsoleFixture.with(Self.letters) { console in
            let person = try await console.signIn(.viewer)
            let pages: [(String, [String])] = [
                ("letters?reason=missing-id", ["dead-letters", "list", "--reason", "missing-id"]),
                ("letter?item=a-letter", ["dead-letters", "show", "a-letter"]),
                ("audit?limit=3", ["dead-letters", "audit", "--limit", "3"]), ("fanouts", ["fanouts"]),
                ("holds", ["hold", "list"]), ("retries", ["retries"]), ("replays", ["dead-letters", "replays"]),
                ("forecast?item=b-letter", ["dead-letters", "replay", "b-letter", "--dry-run"]),
            ]
            for (path, words) in pages {
                let answer = try await console.call("GET", "/api/\(path)", as: person)
                let said = await console.command(words + ["--json"])
                let printed = try JSONParser().parse(Array(said.output.utf8)).get()
                #expect(answer.status == 200, "\(path)")
                #expect(Self.timeless(answer.json) == Self.timeless(printed), "\(path)")
            }
            // The members that the pages read.
            let audit = try await console.call("GET", "/api/audit", as: person)
            let replays = try await console.call("GET", "/api/replays", as: person)
            let forecast = try await console.call("GET", "/api/forecast?item=b-letter", as: person)
            #expect(audit["acts"]?.array != nil && replays["replays"]?.array != nil)
            #expect(forecast["count"] == 1 && forecast["predictions"]?.array?.first?["count"] == 1)
            let status = try await console.call("GET", "/api/status", as: person)
            #expect(status["deadLetters"]?["open"] == 3 && status["database"]?["reached"] == true)
            let masked = try await console.call("GET", "/api/letter?item=a-letter", as: person)
            #expect(masked["revealed"] == false && masked["origin"]?["body"]?["title"] != "Secret me")
        }
    }

    /// Returns the JSON with the time of the call removed.
    private static func timeless(_ json: JSONValue) -> JSONValue {
        guard var object = json.object else { return json }
        for name in ["asOf", "at"] where object[name] != nil { object[name] = .null }
        return .object(object)
    }

    @Test("an act reports its count first, changes nothing without it, and is audited with operator and reason")
    func consent() async throws {
        try await ConsoleFixture.with(Self.letters) { console in
            let person = try await console.signIn()
            let body: JSONObject = JSONObject([("options", ["reason": "malformed-json"])])
            let asked = try await console.call("POST", "/api/acts/discard", .object(body), as: person)
            #expect(asked["question"]?["count"] == 2)
            #expect(asked["question"]?["deed"] == "discards 2 items of 1 user: malformed-json of drop system")
            #expect(asked["question"]?["composition"]?.array?.first?["eventType"] == "system")
            var wrong = body
            wrong["agreed"] = 3
            wrong["because"] = "a flood"
            let again = try await console.call("POST", "/api/acts/discard", .object(wrong), as: person)
            #expect(again["question"]?["count"] == 2)
            let before = try await console.servers.count("SELECT count(*) FROM audit")
            #expect(before == 0)
            let done = try await console.act("discard", body, as: person, because: "a flood")
            #expect(done["done"]?["items"] == 2, "\(done)")
            let audit = try await console.servers.column("SELECT operator || ' ' || act || ' ' || because FROM audit")
            #expect(audit == ["ada discard a flood"])
            let nothing = try await console.call("POST", "/api/acts/discard", .object(body), as: person)
            #expect(nothing["nothing"]?.array?.first == "No items match that are open.")
            let undone = try await console.act("undo", JSONObject([("items", ["1"])]), as: person)
            #expect(undone["done"]?["items"] == 2, "\(undone)")
            let open = try await console.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(open == 3)
        }
    }

    @Test("an act covers only items that existed when the operator looked, and ignores items that are gone")
    func flow() async throws {
        try await ConsoleFixture.with(Self.letters) { console in
            let person = try await console.signIn()
            let book = DeadLetterStore(pool: console.servers.pool)
            let all = JSONObject([("options", ["all": true])])
            let asked = try await console.call("POST", "/api/acts/discard", .object(all), as: person)
            let question = try #require(asked["question"], "\(asked)")
            #expect(question["count"] == 3)
            _ = try await book.file([DeadLetterSamples.rejected("d-letter"), DeadLetterSamples.rejected("e-letter")])
            _ = try await console.servers.owner.run("DELETE FROM dead_letters WHERE dead_id = 'a-letter'", [])
            var agreed = all
            agreed["agreed"] = question["count"]
            agreed["asOf"] = question["asOf"]
            agreed["because"] = "a flood"
            let done = try await console.call("POST", "/api/acts/discard", .object(agreed), as: person)
            #expect(done["done"]?["items"] == 2, "\(done)")
            let open = try await console.servers.column(
                "SELECT dead_id FROM dead_letters WHERE state = 'open' ORDER BY dead_id"
            )
            #expect(open == ["d-letter", "e-letter"])
            // If there are more items than the operator confirmed, the console asks again, whatever `asOf` is.
            agreed["agreed"] = 1
            agreed["asOf"] = "2100-01-01T00:00:00Z"
            let refused = try await console.call("POST", "/api/acts/discard", .object(agreed), as: person)
            #expect(refused["question"]?["count"] == 2, "\(refused)")
            agreed["asOf"] = "yesterday"
            let unclear = try await console.call("POST", "/api/acts/discard", .object(agreed), as: person)
            #expect(unclear["question"]?["count"] == 2, "\(unclear)")
        }
    }

    @Test("a reveal is audited before it shows personal data, and an edit shows its changes before it is sent")
    func reveal() async throws {
        try await ConsoleFixture.with(Self.letters) { console in
            let person = try await console.signIn()
            let silent = try await console.call("POST", "/api/acts/reveal", ["items": ["a-letter"]], as: person)
            #expect(silent.status == 422 && silent["error"]?["field"] == "because")
            let shown = try await console.call(
                "POST",
                "/api/acts/reveal",
                ["items": ["a-letter"], "because": "ticket 4"],
                as: person
            )
            #expect(shown["done"]?["origin"]?["body"]?["title"] == "Secret me")
            let text = Self.personal.replacing("\"e1\"", with: "\"e2\"")
            let body = JSONObject([("items", ["a-letter"]), ("text", .string(text))])
            let asked = try await console.call("POST", "/api/acts/rewrite", .object(body), as: person)
            let lines = asked["question"]?["lines"]?.array?.compactMap(\.string) ?? []
            let hasChange = lines.contains { $0.hasPrefix("+ /id") && $0.contains("e2") }
            #expect(hasChange, "\(asked)")
            let sent = try await console.act("rewrite", body, as: person)
            #expect(sent["done"]?["replay"] == 1, "\(sent)")
            let broken = JSONObject([("items", ["b-letter"]), ("text", "{")])
            let refused = try await console.call("POST", "/api/acts/rewrite", .object(broken), as: person)
            #expect(refused.status == 422 && refused.message.contains("the copy would be refused"), "\(refused)")
            let acts = try await console.servers.column("SELECT act FROM audit ORDER BY number")
            #expect(acts == ["reveal", "edit"])
        }
    }

    @Test("an operator can start, pause, resume and cancel replays, add and release a hold, and pause a fan-out")
    func controls() async throws {
        try await ConsoleFixture.with(Self.letters) { console in
            let person = try await console.signIn()
            let begun = try await console.act(
                "replay",
                JSONObject([("options", ["all": true, "rate": "1", "ramp": true])]),
                as: person
            )
            #expect(begun["done"]?["replay"] == 1, "\(begun)")
            for (verb, state) in [("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")] {
                let body: JSONValue = ["items": ["1"], "because": "x"]
                let answer = try await console.call("POST", "/api/acts/replay-\(verb)", body, as: person)
                #expect(answer["done"]?["state"] == .string(state), "\(answer)")
                let shown = try await console.call("GET", "/api/replays?item=1", as: person)
                #expect(shown.status == 200 && shown["state"] == .string(state), "\(shown)")
            }
            let again = try await console.call(
                "POST",
                "/api/acts/replay-pause",
                ["items": ["1"], "because": "x"],
                as: person
            )
            #expect(again.status == 409 && again.message.contains("it is cancelled"))
            let held = try await console.call(
                "POST",
                "/api/acts/hold-add",
                ["options": ["app": "drop"], "because": "the wrong one"],
                as: person
            )
            #expect(held["done"]?["added"] == true, "\(held)")
            let wrong = try await console.call(
                "POST",
                "/api/acts/hold-add",
                ["options": ["app": "dorp"], "because": "x"],
                as: person
            )
            #expect(wrong.status == 422 && wrong.message.contains("did you mean drop?"))
            let released = try await console.call(
                "POST",
                "/api/acts/hold-release",
                ["items": ["1"], "because": "over", "agreed": 0],
                as: person
            )
            #expect(released["done"]?["released"]?["hold"] == 1, "\(released)")
            let number = try await console.servers.addFanout("f1", plannedTo: "u00010", planned: [true])
            let paused = try await console.act(
                "fanout-pause",
                JSONObject([("items", [.string("\(number)")])]),
                as: person
            )
            #expect(paused["done"]?["fanouts"] == 1, "\(paused)")
            let states = try await console.servers.column("SELECT state::text FROM fanouts")
            #expect(states == ["paused"])
        }
    }

    @Test("a page gets 503 while the database is unavailable, and the status reports it")
    func away() async throws {
        let nowhere = "postgres://bellhop@127.0.0.1:1/nowhere"
        try await ConsoleFixture.with(environment: ["BELLHOP_DATABASE_URL": nowhere]) { console in
            let person = try await console.signIn()
            let groups = try await console.call("GET", "/api/groups", as: person)
            #expect(groups.status == 503 && groups.code == "unavailable")
            #expect(groups.message.contains("bring the database back"), "\(groups.message)")
            #expect(!groups.message.contains("It did not happen"), "a reading has no effect: \(groups.message)")
            let hold: JSONValue = ["items": ["1"], "because": "over", "agreed": 1]
            let release = try await console.call("POST", "/api/acts/hold-release", hold, as: person)
            #expect(release.message.contains("It did not happen; bring the database back"), "\(release.message)")
            let status = try await console.call("GET", "/api/status", as: person)
            #expect(status.status == 200 && status["database"]?["reached"] == false)
            await console.board.look()
            let figures = try await console.call("GET", "/api/figures", as: person)
            #expect(figures["points"]?.array?.count == 1)
        }
    }
}
