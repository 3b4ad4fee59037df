import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@testable import Console

@Suite(
    "Signing in to the console",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .timeLimit(.ofTest)
)
struct SessionTests {
    @Test("a token signs in with a cookie that is hidden from scripts and other sites, and signing out ends it")
    func life() async throws {
        try await ConsoleFixture.with { console in
            let token = try #require(console.tokens[.operator])
            let answer = try await console.call("POST", "/api/sign-in", ["token": .string(token)])
            let cookie = answer.headers["Set-Cookie"] ?? ""
            #expect(cookie.hasPrefix("bellhop-console=") && cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
            #expect(answer["name"] == "ada" && answer["role"] == "operator")
            let browser = try await console.signIn()
            let session = try await console.call("GET", "/api/session", as: browser)
            #expect(session["proof"] == .string(browser.proof))
            let out = try await console.call("POST", "/api/sign-out", as: browser)
            #expect(out.status == 204 && out.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
            let after = try await console.call("GET", "/api/session", as: browser)
            #expect(after.status == 401)
        }
    }

    @Test("a console behind TLS restricts the cookie to it, and only a page of its origin may act")
    func secure() async throws {
        let origin = try #require(WebOrigin("https://bellhop.example.com"))
        try await ConsoleFixture.with(origin: origin) { console in
            let token: JSONValue = ["token": .string(try #require(console.tokens[.operator]))]
            let right = [("Origin", origin.text)]
            let answer = try await console.call("POST", "/api/sign-in", token, headers: right)
            let cookie = answer.headers["Set-Cookie"] ?? ""
            #expect(cookie.hasPrefix("__Host-bellhop-console=") && cookie.hasSuffix("; Secure"))
            let wrong = [("Origin", "http://127.0.0.1:8081"), ("Host", "127.0.0.1:8081")]
            let refused = try await console.call("POST", "/api/sign-in", token, headers: wrong)
            #expect(refused.status == 403)
        }
    }

    @Test("a wrong token gets no details, and an address must wait after ten of them")
    func wrong() async throws {
        try await ConsoleFixture.with { console in
            let person = try await console.signIn()
            for token in ["", "x", "bhop_", String(repeating: "x", count: 10_000)] {
                let answer = try await console.call("POST", "/api/sign-in", ["token": .string(token)])
                #expect(answer.status == 401 && answer.code == "wrong-token")
                #expect(answer.headers["Set-Cookie"] == nil)
            }
            let limiter = AttemptLimiter()
            let (now, peers) = (ContinuousClock.now, [PeerAddress(ipv4: 1), PeerAddress(ipv4: 2)])
            for _ in 1...10 { limiter.failed(peers[0], at: now) }
            let may = peers.map { limiter.mayTry($0, at: now) }
            #expect(may == [false, true])
            #expect(limiter.mayTry(peers[0], at: now + .seconds(31)))
            for number in 3...300 { limiter.failed(PeerAddress(ipv4: UInt32(number)), at: now) }
            #expect(!limiter.mayTry(peers[1], at: now), "in all there are too many")
            #expect(limiter.mayTry(peers[1], at: now + .seconds(2)))
            let session = try await console.call("GET", "/api/session", as: person)
            #expect(session.status == 200)
        }
    }

    @Test("a session ends after two idle hours, after its maximum time, and when its operator is removed from the list")
    func ends() async throws {
        try await ConsoleFixture.with { console in
            let idle = try await console.signIn()
            console.time.advance(by: .seconds(2 * 3_600 + 1))
            let found = try await console.call("GET", "/api/session", as: idle)
            #expect(found.status == 401)
            let long = try await console.signIn(.viewer)
            var seen: [Int] = []
            for _ in 1...13 {
                seen.append(try await console.call("GET", "/api/session", as: long).status)
                console.time.advance(by: .seconds(3_600))
            }
            #expect(seen == Array(repeating: 200, count: 13))
            let late = try await console.call("GET", "/api/session", as: long)
            #expect(late.status == 401)
            let struck = try await console.signIn()
            try Data(#"{"operators": []}"#.utf8).write(to: console.operators)
            console.time.advance(by: .seconds(6))
            let gone = try await console.call("GET", "/api/session", as: struck)
            #expect(gone.status == 401)
        }
    }

    @Test("an operator's least recently used session ends when there are too many, and a broken list changes nothing")
    func bounded() async throws {
        try await ConsoleFixture.with { console in
            var browsers: [ConsoleFixture.Browser] = []
            for _ in 1...11 {
                browsers.append(try await console.signIn())
                console.time.advance(by: .seconds(1))
            }
            let first = try await console.call("GET", "/api/session", as: browsers[0])
            let second = try await console.call("GET", "/api/session", as: browsers[1])
            #expect(first.status == 401 && second.status == 200)
            try Data("{".utf8).write(to: console.operators)
            console.time.advance(by: .seconds(6))
            let still = try await console.call("GET", "/api/session", as: browsers[10])
            #expect(still.status == 200)
        }
    }
}
