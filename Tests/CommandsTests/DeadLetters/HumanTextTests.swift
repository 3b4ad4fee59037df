import BellhopRules
import Foundation
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@testable import CLI
@testable import Commands
@testable import Operations
@testable import Pipeline

@Suite("Text of the dead-letter commands")
struct HumanTextTests {
    @Test("a sparkline shows the smallest figure, fills at the largest, and shows zero as a point")
    func sparkline() {
        #expect(HumanText.sparkline([0, 1, 50, 100]) == "·▁▄█")
        #expect(HumanText.sparkline([0, 0]) == "··")
        #expect(HumanText.sparkline([3, 3]) == "██")
        #expect(HumanText.sparkline([1, 1_000_000]) == "▁█")
    }

    @Test("figures are grouped by thousands and agree with their noun")
    func figures() {
        #expect(
            [0, 7, 999, 1000, 1_234_567, -1000].map(\.grouped) == ["0", "7", "999", "1,000", "1,234,567", "-1,000"]
        )
        #expect(1.of("item") == "1 item")
        #expect(2000.of("item") == "2,000 items")
    }

    @Test("a replay that schedulers repeatedly take and release is stalled, and one that settles items is not")
    func standstill() {
        var still = ReplayStandstill()
        for look in 1...2_000 { still.note(settled: 0, isCarried: look % 200 < 150) }
        #expect(still.isOver)
        still.note(settled: 1, isCarried: true)
        #expect(!still.isOver)
        var slow = ReplayStandstill()
        var checks = 0
        for _ in 1...10_000 {
            slow.note(settled: 0, isCarried: true)
            checks += slow.isStill ? 1 : 0
        }
        #expect(!slow.isOver, "a scheduler runs it")
        #expect(checks == 1, "the broker is checked once for each standstill")
        var left = ReplayStandstill()
        var words = 0
        for _ in 1...479 {
            left.note(settled: 0, isCarried: false)
            words += left.isWorthAWord ? 1 : 0
        }
        #expect(words == 1)
        #expect(!left.isOver)
        left.note(settled: 0, isCarried: false)
        #expect(left.isOver)
    }

    @Test("ids are shortened only while they stay distinct")
    func shortened() {
        let near = ["0123456789abcdef", "0123456789abcXYZ"]
        #expect(HumanText.shortened(near) == near)
        #expect(HumanText.shortened(["0123456789abcdef", "1123456789abcdef"]) == ["0123456789ab", "1123456789ab"])
        #expect(HumanText.shortened(["a", "a"]) == ["a", "a"])
    }

    @Test("external text cannot move the cursor")
    func cut() {
        #expect(HumanText.cut("a\u{1B}[2Jb\nc", to: 20) == "a\\u001b[2Jb c")
        #expect(HumanText.cut("abcdef", to: 4) == "abc…")
    }

    @Test("masking keeps names and structure and hides user content")
    func masking() throws {
        let body: JSONValue = [
            "id": "e1", "to": ["users": ["u1", "u2"]], "title": "Hei", "data": ["amount": 12, "list": ["x"]],
            "token": "secret", "userId": "u1", "email": "a@b.no", "flag": true,
        ]
        let masked = MaskedJSON.body(body)
        #expect(masked["id"] == "e1")
        #expect(masked["to"] == ["users": ["u1", "u2"]])
        #expect(masked["title"] == "••• 3 characters")
        #expect(masked["data"] == ["amount": "•••", "list": ["••• 1 character"]])
        #expect(masked["token"] == "••• 6 characters")
        #expect(masked["email"] == "••• 6 characters")
        #expect(masked["flag"] == true)
        let headers = MaskedJSON.headers([
            "ce-id": "1", "ce-subject": "ada", "tenant": "blue", "x-death": [["queue": "q"]],
        ])
        #expect(
            headers == [
                "ce-id": "1", "ce-subject": "••• 3 characters", "tenant": "••• 4 characters",
                "x-death": [["queue": "q"]],
            ]
        )
    }

    @Test("an object of tens of thousands of members is masked and compared as quickly as a small one")
    func large() throws {
        let names = (0..<40_000).map { "user-\($0)" }
        let before = JSONValue.object(JSONObject(unique: names.map { .init(key: $0, value: "a") }))
        let masked = MaskedJSON.body(before)
        #expect(masked["user-39999"] == "••• 1 character")
        #expect(masked.object?.members.map(\.key) == names)
        let changed = names.map { JSONObject.Member(key: $0, value: $0 == "user-7" ? "b" : "a") }
        let differences = JSONEdits.differences(before, .object(JSONObject(unique: changed.dropLast())))
        #expect(differences.map(\.place.text) == ["/user-7", "/user-39999"])
    }

    @Test("a known member name is masked inside data, metadata and CloudEvents extensions")
    func maskingInside() throws {
        let inside: JSONValue = ["id": "p1", "to": "ada", "user": "u1", "source": "home", "target": ["userId": "u1"]]
        let hidden: JSONValue = [
            "id": "••• 2 characters", "to": "••• 3 characters", "user": "••• 2 characters",
            "source": "••• 4 characters", "target": ["userId": "••• 2 characters"],
        ]
        let plain = MaskedJSON.body(["id": "e1", "data": inside, "metadata": inside, "target": inside])
        let maskedPlain: JSONValue = ["id": "e1", "data": hidden, "metadata": hidden, "target": hidden]
        #expect(plain == maskedPlain)
        let fields: JSONValue = ["to": ["user": "u1", "name": "ada"], "title": "Hei", "data": inside]
        let event = MaskedJSON.body(["specversion": "1.0", "id": "7", "subject": "ada", "data": fields])
        let maskedFields: JSONValue = [
            "to": ["user": "u1", "name": "••• 3 characters"], "title": "••• 3 characters", "data": hidden,
        ]
        let maskedEvent: JSONValue = [
            "specversion": "1.0", "id": "7", "subject": "••• 3 characters", "data": maskedFields,
        ]
        #expect(event == maskedEvent)
        let headers = MaskedJSON.headers(["ce-type": "t", "ce-customer": "ada", "cloudEvents:subject": "ada"])
        let maskedHeaders: JSONValue = [
            "ce-type": "t", "ce-customer": "••• 3 characters", "cloudEvents:subject": "••• 3 characters",
        ]
        #expect(headers == maskedHeaders)
    }

    @Test("every possible reason has its advice, and a row in the runbook")
    func advice() throws {
        let page = try String(contentsOf: Self.repository("docs/runbooks/dead-letters.md"), encoding: .utf8)
        let runbook = page.replacing("`", with: "")
        for (reason, advice) in DeadLetterAdvice.byReason {
            #expect(runbook.contains("| \(reason) |"), "\(reason)")
            #expect(runbook.contains("| \(advice) |"), "\(reason)")
        }
        #expect(Set(DeadLetterAdvice.byReason.keys) == DeadLetterCause.knownReasons)
    }

    @Test(
        "a value is set at its place",
        arguments: [
            ("/id", #"{"a":1,"id":7}"#), ("/a", #"{"a":7}"#), ("/to/user", #"{"a":1,"to":{"user":7}}"#),
        ]
    )
    func setting(place: String, expected: String) throws {
        let steps = try #require(JSONPointer(place)).steps
        let changed = JSONEdits.setting(7, at: steps[...], in: ["a": 1])
        let bytes = try JSONWriter.canonicalBytes(of: #require(changed))
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("a value without a possible place is not set")
    func settingNowhere() {
        #expect(JSONEdits.setting(7, at: ["a", "b"], in: ["a": 1]) == nil)
        #expect(JSONEdits.setting(7, at: ["a", "5"], in: ["a": [1]]) == nil)
        #expect(JSONEdits.setting(7, at: ["a", "-"], in: ["a": [1]]) == ["a": [1, 7]])
    }

    @Test("a difference names exactly the places that differ")
    func differences() {
        let before: JSONValue = ["same": 1, "gone": 2, "deep": ["x": [1, 2]]]
        let after: JSONValue = ["same": 1, "deep": ["x": [1, 3]], "new": [1]]
        let places = JSONEdits.differences(before, after).map(\.place.text)
        #expect(places == ["/gone", "/deep/x/1", "/new"])
        #expect(JSONEdits.differences(before, before).isEmpty)
        #expect(JSONEdits.differences(nil, after).map(\.place.text) == [""])
    }

    private static func repository(_ path: String) -> URL {
        Checkout.file(path)
    }
}
