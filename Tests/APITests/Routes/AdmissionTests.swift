import BellhopJSON
import HTTPServer
import IntegrationSupport
import ServiceRuntime
import Settings
import TestSupport
import Testing

@Suite(
    "Admission to the API",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct AdmissionTests {
    @Test("every route rejects a request without exactly one valid token in the header, and gives no reason")
    func closed() async throws {
        try await APIFixture.with { api in
            let token = try api.token("ada")
            let attempts: [(String, HTTPHeaders)] = [
                ("none", [:]), ("another scheme", ["Authorization": "Basic YWRhOng="]),
                ("twice", ["Authorization": "Bearer \(token)", "authorization": "Bearer \(token)"]),
                ("two tokens", ["Authorization": "Bearer \(token) \(token)"]),
                ("a bare token", ["Authorization": token]), ("forged", ["Authorization": "Bearer \(token)x"]),
                ("a cookie", ["Cookie": "token=\(token)"]),
                ("too long", ["Authorization": "Bearer " + String(repeating: "x", count: 9_000)]),
            ]
            for (what, headers) in attempts {
                for path in ["/api/notifications", "/api/settings"] {
                    let answer = try await api.call("GET", path, as: nil, headers: headers)
                    #expect(answer.status == 401, "\(what)")
                    #expect(answer.headers["WWW-Authenticate"] == "Bearer", "\(what)")
                    #expect(answer.code == "unauthorized", "\(what)")
                }
            }
            let query = try await api.call("GET", "/api/notifications?access_token=\(token)", as: nil)
            #expect(query.status == 401)
            let small = try await api.call(
                "GET",
                "/api/settings",
                as: nil,
                headers: ["authorization": "bearer \(token)"]
            )
            #expect(small.status == 200)
        }
    }

    @Test("an app without a catalogue gets 403, and an unknown path or method gets 404 or 405")
    func unknown() async throws {
        try await APIFixture.with { api in
            let stranger = try await api.call("GET", "/api/settings", app: "nobody")
            #expect(stranger.status == 403 && stranger.code == "unknown-app")
            #expect(try await api.call("GET", "/api/nothing").status == 404)
            let wrong = try await api.call("POST", "/api/settings", "{}")
            #expect(wrong.status == 405)
            #expect(wrong.headers["Allow"] == "GET, HEAD, PATCH")
        }
    }

    @Test(
        "a body that is not a JSON object with the expected members is rejected with the cause",
        arguments: [
            ("{", 400, "malformed-json"), (#"{"a":1,"a":2}"#, 400, "malformed-json"), ("", 400, "malformed-json"),
            ("[]", 422, "invalid-field"), ("null", 422, "invalid-field"),
            (#"{"locale":"a\u0000b"}"#, 422, "invalid-field"),
        ]
    )
    func bodies(body: String, status: Int, code: String) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("PATCH", "/api/settings", body)
            #expect(answer.status == status)
            #expect(answer.code == code)
        }
    }

    @Test("a body that is nested too deeply or has another content type is rejected")
    func forms() async throws {
        try await APIFixture.with { api in
            let deep = #"{"enabled":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}"
            #expect(try await api.call("PUT", "/api/preferences", deep).status == 400)
            let form = try await api.call("PATCH", "/api/settings", "a=b", headers: ["Content-Type": "text/plain"])
            #expect(form.status == 415)
            let charset: HTTPHeaders = ["Content-Type": "Application/JSON; charset=utf-8"]
            #expect(try await api.call("PATCH", "/api/settings", "{}", headers: charset).status == 200)
        }
    }

    @Test("only pages of the listed origins may read answers, and none may send cookies")
    func origins() async throws {
        try await APIFixture.with(origins: ["https://app.example.com"]) { api in
            let allowed: HTTPHeaders = ["Origin": "https://app.example.com"]
            let answer = try await api.call("GET", "/api/settings", headers: allowed)
            #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example.com")
            #expect(answer.headers["Access-Control-Allow-Credentials"] == nil)
            #expect(answer.headers["Vary"] == "Origin")
            for origin in ["https://app.example.com.evil.example", "http://app.example.com", "null"] {
                let other = try await api.call("GET", "/api/settings", headers: ["Origin": origin])
                #expect(other.headers["Access-Control-Allow-Origin"] == nil)
                #expect(other.headers["Vary"] == "Origin")
            }
            var question = allowed
            question.add("Access-Control-Request-Method", "PATCH")
            let preflight = try await api.call("OPTIONS", "/api/notifications", as: nil, headers: question)
            #expect(preflight.status == 204)
            #expect(preflight.headers["Access-Control-Allow-Methods"]?.contains("PATCH") == true)
            #expect(preflight.headers["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
            let refused = try await api.call("GET", "/api/settings", as: nil, headers: allowed)
            #expect(refused.headers["Access-Control-Allow-Origin"] != nil, "a page must be able to read a 401")
        }
    }

    @Test("without a list of origins no page of another origin may read an answer")
    func noOrigins() async throws {
        try await APIFixture.with { api in
            let headers: HTTPHeaders = ["Origin": "https://app.example.com", "Access-Control-Request-Method": "GET"]
            #expect(try await api.call("OPTIONS", "/api/settings", as: nil, headers: headers).status == 405)
            let answer = try await api.call("GET", "/api/settings", headers: headers)
            #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test("a user's calls are limited without affecting others, and an address's calls before any token is checked")
    func rates() async throws {
        try await APIFixture.with(rates: CallRates(user: 2, address: nil)) { api in
            var statuses: [Int] = []
            for _ in 0..<6 { statuses.append(try await api.call("GET", "/api/web-push-key").status) }
            #expect(statuses.contains(429))
            let other = try await api.call("GET", "/api/web-push-key", as: "bob")
            #expect(other.status == 200)
        }
        try await APIFixture.with(rates: CallRates(user: nil, address: 2)) { api in
            var limited: APIFixture.Answer?
            for _ in 0..<6 {
                let answer = try await api.call("GET", "/api/settings", as: nil)
                if answer.status == 429 { limited = answer }
            }
            #expect(limited?.headers["Retry-After"] == "1")
            #expect(limited?.code == "too-many-requests")
        }
    }

    @Test("answers are never cached, and calls are counted by route")
    func common() async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("GET", "/api/settings")
            #expect(answer.headers["Cache-Control"] == "no-store")
            #expect(answer.headers["X-Content-Type-Options"] == "nosniff")
            _ = try await api.call("DELETE", "/api/follows/venue:1")
            _ = try await api.call("GET", "/api/settings", as: nil)
            let metrics = api.metrics.text()
            let counted = [
                #"bellhop_api_requests_total{route="/api/follows/{topic}",method="DELETE",status="204"} 1"#,
                #"bellhop_api_requests_total{route="/api/settings",method="GET",status="401"} 1"#,
                #"bellhop_api_refused_tokens_total{reason="missing"} 1"#,
            ]
            for line in counted { #expect(metrics.contains(line)) }
        }
    }

    @Test("the answer is 503 with Retry-After while the database is unavailable")
    func unavailable() async throws {
        try await APIFixture.with { api in
            await api.closePool()
            let answer = try await api.call("GET", "/api/settings")
            #expect(answer.status == 503)
            #expect(answer.headers["Retry-After"] == "1")
            #expect(answer.code == "unavailable")
        }
    }
}
