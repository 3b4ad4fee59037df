import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import Console

@Suite(
    "Access to the console's routes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct RouteMatrixTests {
    /// Calls a route with an empty body.
    private static func call(
        _ route: (method: String, path: String, admits: OperatorConsole.Admission),
        _ console: ConsoleFixture,
        _ browser: ConsoleFixture.Browser?
    ) async throws -> ConsoleFixture.Answer {
        try await console.call(route.method, route.path, route.method == "POST" ? [:] : nil, as: browser)
    }

    @Test("each route admits exactly its roles: nothing is open without signing in, and a viewer cannot act")
    func matrix() async throws {
        try await ConsoleFixture.with([DeadLetterSamples.rejected("a-letter")]) { console in
            let (viewer, person) = (try await console.signIn(.viewer), try await console.signIn())
            let routes = OperatorConsole.routes.filter { !$0.path.hasPrefix("/api/sign-") }
            for route in routes {
                let answers = [
                    try await Self.call(route, console, nil).status,
                    try await Self.call(route, console, viewer).status,
                    try await Self.call(route, console, person).status,
                ]
                let isClosed = answers.map { $0 == 401 || $0 == 403 }
                switch route.admits {
                case .everybody: #expect(isClosed == [false, false, false], "\(route.path) \(answers)")
                case .signedIn: #expect(isClosed == [true, false, false], "\(route.path) \(answers)")
                case .operators: #expect(isClosed == [true, true, false], "\(route.path) \(answers)")
                }
            }
            let changed = try await console.servers.count("SELECT count(*) FROM audit")
            #expect(changed == 0)
        }
    }

    @Test("a path accepts only its own method, and an unknown path gets 404")
    func methods() async throws {
        try await ConsoleFixture.with { console in
            let person = try await console.signIn()
            for route in OperatorConsole.routes {
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] where method != route.method
                {
                    let answer = try await console.call(method, route.path, as: person)
                    #expect(answer.status == 405, "\(method) \(route.path)")
                }
            }
            for path in ["/api", "/api/acts", "/api/acts/worker", "/api/keys", "/..", "/api/acts/discard/x"] {
                let answer = try await console.call("GET", path, as: person)
                #expect(answer.status == 404, "\(path)")
            }
        }
    }

    @Test("an act requires the proof of the same session and a page of this origin")
    func proofs() async throws {
        try await ConsoleFixture.with([DeadLetterSamples.rejected("a-letter")]) { console in
            let (one, other) = (try await console.signIn(), try await console.signIn())
            let body: JSONValue = ["items": ["a-letter"], "agreed": 1, "because": "x"]
            let wrong: [[(String, String)]] = [
                [("X-Bellhop-Proof", "")], [("X-Bellhop-Proof", other.proof)], [("X-Bellhop-Proof", "x")],
                [("Origin", "https://evil.example")], [("Origin", "null")], [("Sec-Fetch-Site", "cross-site")],
                [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none")],
                [("Host", "bellhop:8081"), ("Origin", "http://bellhop:9")],
            ]
            for headers in wrong {
                let answer = try await console.call("POST", "/api/acts/discard", body, headers: headers, as: one)
                #expect(answer.status == 403 && answer.code == "not-this-page", "\(headers)")
                let out = try await console.call("POST", "/api/sign-out", headers: headers, as: one)
                #expect(out.status == 403)
            }
            let open = try await console.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(open == 1)
            let right = [
                ("Host", "bellhop:8081"), ("Origin", "http://bellhop:8081"), ("Sec-Fetch-Site", "same-origin"),
            ]
            let done = try await console.call("POST", "/api/acts/discard", body, headers: right, as: one)
            #expect(done.status == 200, "\(done)")
        }
    }

    @Test("a page can only fill in forms: it cannot set settings, files, another name or command-line words")
    func forms() async throws {
        try await ConsoleFixture.with([DeadLetterSamples.rejected("a-letter")]) { console in
            let person = try await console.signIn()
            let strange: [JSONObject] = [
                JSONObject([("options", ["by": "somebody"])]), JSONObject([("options", ["yes": true])]),
                JSONObject([("options", ["database-url": "postgres://elsewhere/"])]),
                JSONObject([("options", ["output": "/etc/passwd"])]),
                JSONObject([("options", ["file": "/etc/passwd"])]),
                JSONObject([("items", ["--all"])]), JSONObject([("items", ["-h"])]), JSONObject([("items", [1])]),
                JSONObject([("options", ["app": ["a": 1]])]), JSONObject([("options", ["app": "a\u{0}b"])]),
                JSONObject([("words", ["--yes"])]), JSONObject([("items", .array(Array(repeating: "a", count: 501)))]),
            ]
            for body in strange {
                let answer = try await console.call("POST", "/api/acts/discard", .object(body), as: person)
                #expect(answer.status == 422, "\(body)")
            }
            for query in ["by=x", "reveal=1", "item=--reveal", "output=x", "watch=1", "json=0", "config=x"] {
                let answer = try await console.call("GET", "/api/letters?\(query)", as: person)
                #expect(answer.status == 422, "\(query)")
            }
            let silent = try await console.call(
                "POST",
                "/api/acts/discard",
                ["items": ["a-letter"], "agreed": 1, "because": " \n"],
                as: person
            )
            #expect(silent.status == 422 && silent.message.contains("say why"))
            let plain = try await console.call(
                "POST",
                "/api/acts/discard",
                [:],
                headers: [("Content-Type", "text/plain")],
                as: person
            )
            #expect(plain.status == 415)
            let open = try await console.servers.count("SELECT count(*) FROM dead_letters WHERE state = 'open'")
            #expect(open == 1)
        }
    }

    @Test("every answer forbids framing, caching and content sniffing, and the page's policy allows nothing inline")
    func headers() async throws {
        try await ConsoleFixture.with { console in
            for path in ["/", "/console.js", "/api/session", "/nowhere"] {
                let answer = try await console.call("GET", path)
                #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
                #expect(answer.headers["X-Frame-Options"] == "DENY")
                #expect(answer.headers["Referrer-Policy"] == "no-referrer")
                let policy = answer.headers["Content-Security-Policy"] ?? ""
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe"))
                if path.hasPrefix("/api") { #expect(answer.headers["Cache-Control"] == "no-store") }
            }
            let page = try await console.call("GET", "/").headers["Content-Security-Policy"] ?? ""
            #expect(page.contains("require-trusted-types-for 'script'") && page.contains("trusted-types 'none'"))
        }
    }
}
