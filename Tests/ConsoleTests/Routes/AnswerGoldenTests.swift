import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

@testable import Console

/// The answers of the console's routes, as sent.
@Suite(
    "Answers of the console, unchanged",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct AnswerGoldenTests {
    @Test("readings, questions, acts and faults are answered as stored")
    func answers() async throws {
        let body = #"{"id":"e1","eventType":"system","to":{"user":"ada"},"title":"T","data":{"amount":"1"}}"#
        let letters = [
            DeadLetterSamples.rejected("a-letter", failedAt: DeadLetterSamples.ago(300)),
            DeadLetterSamples.rejected(
                "b-letter",
                reason: "missing-id",
                failedAt: DeadLetterSamples.ago(200),
                body: body
            ),
        ]
        try await ConsoleFixture.with(letters) { console in
            let person = try await console.signIn()
            var entries: [String] = []
            func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws {
                add(method, path, try await console.call(method, path, body, as: person))
            }
            func add(_ method: String, _ path: String, _ answer: ConsoleFixture.Answer) {
                let json = String(decoding: JSONWriter.canonicalBytes(of: answer.json), as: UTF8.self)
                entries.append("\(method) \(path)\n\(answer.status) \(json)")
            }
            for path in [
                "/api/session", "/api/groups", "/api/letters", "/api/letters?reason=nosuch",
                "/api/letter?item=a-letter", "/api/letter?item=nosuch", "/api/letter", "/api/forecast?item=b-letter",
                "/api/replays", "/api/audit", "/api/fanouts", "/api/fanout?item=4711", "/api/holds", "/api/retries",
                "/api/explain?app=drop&user=ada&event=nosuch", "/api/letters?nosuch=1",
            ] {
                try await call("GET", path)
            }
            try await call("POST", "/api/acts/discard", ["items": ["a-letter"]])
            add("POST", "/api/acts/discard", try await console.act("discard", ["items": ["a-letter"]], as: person))
            try await call("POST", "/api/acts/discard", ["items": ["a-letter"], "agreed": 7, "because": "x"])
            try await call("POST", "/api/acts/discard", ["nosuch": 1])
            try await call("GET", "/api/audit")
            try Golden("console.txt").check(Golden.masked(entries.joined(separator: "\n\n"), [person.proof: "proof"]))
        }
    }
}
