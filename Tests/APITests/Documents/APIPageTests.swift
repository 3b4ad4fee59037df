import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "docs/api.md",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct APIPageTests {
    /// A request on the page, with the documented answer.
    private struct Example {
        let method: String
        let path: String
        var headers = HTTPHeaders()
        var body = ""
        let status: Int
        let answer: JSONValue?

        init(_ text: String) throws {
            let halves = text.components(separatedBy: "\n→ ")
            let lines = halves[0].split(separator: "\n")
            let words = try #require(lines.first).split(separator: " ")
            (method, path) = (String(words[0]), String(words[1]))
            for line in lines.dropFirst() {
                let field = line.firstMatch(of: /^([A-Za-z-]+): (.*)$/)
                if let field { headers.add(String(field.1), String(field.2)) } else { body += line }
            }
            let expected = try #require(halves.last).split(separator: "\n", maxSplits: 1)
            status = try #require(Int(expected[0]))
            answer = expected.count > 1 ? try JSONParser().parse(Array(expected[1].utf8)).get() : nil
        }
    }

    @Test("the page's examples, sent in order, return the documented answers")
    func examples() async throws {
        let blocks = try Checkout.text("docs/api.md").components(separatedBy: "```http\n").dropFirst()
        let examples = try blocks.map { try Example($0.components(separatedBy: "\n```")[0]) }
        #expect(examples.count >= 14)
        try await APIFixture.with { api in
            try await api.notify(1)
            try await api.notify(2, type: "security", priority: "high")
            for example in examples {
                let body = example.body.isEmpty ? nil : example.body
                let answer = try await api.call(example.method, example.path, body, headers: example.headers)
                #expect(answer.status == example.status, "\(example.method) \(example.path): \(answer.text)")
                guard let expected = example.answer else { continue }
                let faults = Self.differences(answer.json, expected, at: "\(example.method) \(example.path)")
                #expect(faults == [])
            }
        }
    }

    /// The differences between an answer and the expected one.
    ///
    /// `…` matches any value.
    private static func differences(_ answer: JSONValue?, _ expected: JSONValue, at place: String) -> [String] {
        guard let answer else { return ["\(place) is missing"] }
        switch (answer, expected) {
        case (_, .string("…")): return []
        case (.object(let answer), .object(let expected)):
            return expected.members.flatMap { differences(answer[$0.key], $0.value, at: "\(place)/\($0.key)") }
        case (.array(let answer), .array(let expected)):
            guard answer.count == expected.count else { return ["\(place): \(answer.count) elements"] }
            return zip(answer, expected).flatMap { differences($0, $1, at: place) }
        default: return answer == expected ? [] : ["\(place): \(answer)"]
        }
    }
}
