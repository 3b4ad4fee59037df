import BellhopJSON
import HTTPServer
import IntegrationSupport
import TestSupport
import Testing

@testable import Console
@testable import Roles

@Suite(
    "The console's status",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct StatusCacheTests {
    /// Returns the answer to a call as it is sent.
    private static func bytes(_ path: String, _ console: ConsoleFixture) async throws -> String {
        let browser = try await console.signIn(.viewer)
        var headers = HTTPHeaders()
        headers.add("Cookie", browser.cookie)
        let target = try #require(RequestTarget(path))
        let response = await console.console.respond(
            to: HTTPRequest(method: "GET", target: target, headers: headers, body: [])
        )
        guard case .bytes(let bytes) = response.body else { throw BrowserFailure("a stream came back") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the status without times, and without the age of a hold.
    private static func timeless(_ status: String) -> String {
        Golden.masked(status).replacing(/has been held for [^(]+\(/, with: "has been held (")
    }

    /// Places a hold whose reason contains an invisible character.
    private static func hold(_ console: ConsoleFixture) async throws {
        let body: JSONValue = ["options": ["app": "drop"], "because": "wrong\u{202E} prices"]
        let person = try await console.signIn()
        let answer = try await console.call("POST", "/api/acts/hold-add", body, as: person)
        #expect(answer.status == 200, "\(answer)")
    }

    @Test("the status is sent with the bytes that the command prints")
    func bytes() async throws {
        try await ConsoleFixture.with([DeadLetterSamples.rejected("a-letter")]) { console in
            try await Self.hold(console)
            let sent = Self.timeless(try await Self.bytes("/api/status", console))
            let printed = await console.command(["status", "--json"]).output
            #expect(sent == Self.timeless(printed))
            #expect(sent.contains(#"wrong\u202e prices"#), "\(sent)")
        }
    }

    @Test("all callers share one reading for two seconds")
    func freshness() async throws {
        try await ConsoleFixture.with { console in
            func holds() async throws -> Int? {
                try await console.board.current().get()["holds"]?.array?.count
            }
            let before = try await holds()
            try await Self.hold(console)
            console.time.advance(by: .milliseconds(1_999))
            let cached = try await holds()
            console.time.advance(by: .milliseconds(1))
            let after = try await holds()
            #expect([before, cached, after] == [0, 0, 1])
        }
    }

    @Test("without a broker's address the answer names the missing setting, and no figures are stored")
    func unset() async throws {
        try await ConsoleFixture.with(environment: ["BELLHOP_AMQP_URL": ""]) { console in
            let person = try await console.signIn()
            let status = try await console.call("GET", "/api/status", as: person)
            #expect(status.status == 500 && status.code == "failed", "\(status)")
            #expect(status.message.contains("BELLHOP_AMQP_URL"), "\(status.message)")
            await console.board.look()
            let figures = try await console.call("GET", "/api/figures", as: person)
            #expect(figures["points"]?.array?.isEmpty == true)
        }
    }
}
