import API
import Compression
import HTTPServer
import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "The pages of the notification centre",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct PageRouteTests {
    @Test("each page has its content type and requires no sign-in")
    func types() async throws {
        try await APIFixture.with { api in
            let types = [
                "/": "text/html; charset=utf-8", "/bellhop-inbox.js": "text/javascript; charset=utf-8",
                "/bellhop-inbox-settings.js": "text/javascript; charset=utf-8",
                "/bellhop-client.js": "text/javascript; charset=utf-8",
                "/bellhop-client.d.ts": "text/plain; charset=utf-8",
                "/sw.js": "text/javascript; charset=utf-8", "/inbox.js": "text/javascript; charset=utf-8",
                "/inbox.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml",
                "/icon.png": "image/png", "/badge.png": "image/png",
                "/manifest.json": "application/manifest+json",
            ]
            #expect(Set(types.keys) == Set(InboxAPI.pages))
            for (path, type) in types {
                let answer = try await api.call("GET", path, as: nil)
                #expect(answer.status == 200, "\(path)")
                #expect(answer.headers["Content-Type"] == type, "\(path)")
                #expect(answer.headers["X-Content-Type-Options"] == "nosniff", "\(path)")
                #expect(answer.text.isEmpty == false, "\(path)")
            }
        }
    }

    @Test("the page's policy allows no inline script or style, and no content from other origins")
    func policy() async throws {
        try await APIFixture.with { api in
            let page = try await api.call("GET", "/", as: nil)
            let policy = try #require(page.headers["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
            #expect(policy.contains("unsafe") == false)
            #expect(policy.contains("*") == false)
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(policy.contains("require-trusted-types-for 'script'"))
            #expect(page.headers["Referrer-Policy"] == "no-referrer")
            #expect(page.text.contains("<style") == false)
            #expect(page.text.contains("style=") == false)
        }
    }

    @Test("the service worker may fetch pictures of notifications, and otherwise call only this API")
    func workerPolicy() async throws {
        try await APIFixture.with { api in
            let worker = try await api.call("GET", "/sw.js", as: nil)
            let policy = worker.headers["Content-Security-Policy"]
            #expect(policy == "default-src 'none'; connect-src 'self'; img-src 'self' https:")
        }
    }

    @Test("a file that the browser already has is not sent again, whichever form of the tag the request has")
    func known() async throws {
        try await APIFixture.with { api in
            let first = try await api.call("GET", "/sw.js", as: nil)
            #expect(first.headers["Cache-Control"] == "no-cache")
            let tag = try #require(first.headers["ETag"])
            for value in [tag, "\"other\", \(tag)", String(tag.dropFirst(2)), "*"] {
                let again = try await api.call("GET", "/sw.js", as: nil, headers: ["If-None-Match": value])
                #expect(again.status == 304, "\(value)")
                #expect(again.text.isEmpty, "\(value)")
                #expect(again.headers["ETag"] == tag, "\(value)")
            }
            let other = try await api.call("GET", "/sw.js", as: nil, headers: ["If-None-Match": "W/\"other\""])
            #expect(other.status == 200)
        }
    }

    @Test(
        "a script's compressed form is small, and a client that cannot read it gets the plain form",
        arguments: [("/bellhop-inbox.js", 30), ("/bellhop-inbox-settings.js", 8), ("/bellhop-client.js", 12)]
    )
    func compressed(path: String, kilobytes: Int) async throws {
        try await APIFixture.with { api in
            let request = { (field: String) -> HTTPRequest in
                let target = try #require(RequestTarget(path))
                return HTTPRequest(method: "GET", target: target, headers: ["Accept-Encoding": field])
            }
            let short = await api.api.respond(to: try request("br, gzip;q=0.8"))
            guard case .bytes(let bytes) = short.body else { throw ServerFixtureError("a stream in place of a file") }
            #expect(short.headers["Content-Encoding"] == "gzip")
            #expect(short.headers["Vary"]?.contains("Accept-Encoding") == true)
            #expect(bytes.count <= kilobytes * 1_024)
            for field in ["gzip;q=0", "identity", "gzip; q=0.0"] {
                let plain = await api.api.respond(to: try request(field))
                guard case .bytes(let text) = plain.body else {
                    throw ServerFixtureError("a stream in place of a file")
                }
                #expect(plain.headers["Content-Encoding"] == nil, "\(field)")
                #expect(Gzip.expanded(bytes, atMost: 1 << 20) == text, "\(field)")
            }
        }
    }

    @Test("a page of another listed origin may use the script, and only with an explicit permission to read it")
    func embedded() async throws {
        try await APIFixture.with(origins: ["https://app.example.com"]) { api in
            let script = try await api.call(
                "GET",
                "/bellhop-inbox.js",
                as: nil,
                headers: ["Origin": "https://app.example.com"]
            )
            #expect(script.headers["Cross-Origin-Resource-Policy"] == "cross-origin")
            #expect(script.headers["Access-Control-Allow-Origin"] == "https://app.example.com")
            #expect(script.headers["Vary"] == "Accept-Encoding, Origin")
        }
    }
}
