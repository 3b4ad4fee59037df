import BellhopRules
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("The token endpoint", .limitedConcurrency, .timeLimit(.ofTest))
struct TokenEndpointTests {
    @Test("a valid assertion gets a token that FCM accepts until it expires")
    func grantsAToken() async throws {
        try await withSandbox { client in
            let answer = try await client.answer(client.tokenRequest(try AssertionDraft(client).signed()))
            #expect(answer.status == 200)
            #expect(answer.version == .http2)
            #expect(answer.json?["token_type"] == "Bearer")
            #expect(answer.json?["expires_in"] == 3600)
            let token = try #require(answer.json?["access_token"]?.string)
            let message = #"{"message":{"token":"device-1"}}"#
            #expect(try await client.send(message, bearer: token).status == 200)

            client.time.advance(by: .seconds(3_601))
            let late = try await client.send(message, bearer: token)
            #expect(late.status == 401)
            #expect(late.json?.at("error/status") == "UNAUTHENTICATED")
            #expect(late.json?.at("error/details/0/reason") == "ACCESS_TOKEN_EXPIRED")
        }
    }

    @Test("Google's own address is also accepted as the audience, and the broader scope as the scope")
    func acceptsTheRealAudience() async throws {
        try await withSandbox { client in
            var draft = try AssertionDraft(client)
            draft.claims["aud"] = "https://oauth2.googleapis.com/token"
            draft.claims["scope"] = "https://www.googleapis.com/auth/cloud-platform"
            #expect(try await client.answer(client.tokenRequest(try draft.signed())).status == 200)
        }
    }

    @Test("every invalid assertion is rejected with Google's error code")
    func refusesAssertions() async throws {
        try await withSandbox { client in
            let now = client.time.now().microseconds / 1_000_000
            func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
            let cases: [(String, (inout AssertionDraft) -> Void, String)] = [
                ("another algorithm", { $0.header["alg"] = "ES256" }, "invalid_grant"),
                ("no algorithm", { $0.header["alg"] = nil }, "invalid_grant"),
                ("no type", { $0.header["typ"] = nil }, "invalid_grant"),
                ("another key", { $0.header["kid"] = "0000" }, "invalid_grant"),
                ("an unknown account", { $0.claims["iss"] = "someone@else.example" }, "invalid_grant"),
                ("no account", { $0.claims["iss"] = nil }, "invalid_grant"),
                ("another audience", { $0.claims["aud"] = "https://example.com/token" }, "invalid_grant"),
                ("no scope", { $0.claims["scope"] = nil }, "invalid_scope"),
                ("another scope", { $0.claims["scope"] = "https://www.googleapis.com/auth/drive" }, "invalid_scope"),
                ("no issue time", { $0.claims["iat"] = nil }, "invalid_grant"),
                ("times as strings", { $0.claims["iat"] = .string(String(now)) }, "invalid_grant"),
                ("more than an hour", { $0.claims["exp"] = number(now + 3_601) }, "invalid_grant"),
                ("an end before the beginning", { $0.claims["exp"] = number(now - 1) }, "invalid_grant"),
                (
                    "a time that is over",
                    {
                        $0.claims["iat"] = number(now - 3_700)
                        $0.claims["exp"] = number(now - 100)
                    }, "invalid_grant"
                ),
                (
                    "a time to come",
                    {
                        $0.claims["iat"] = number(now + 600)
                        $0.claims["exp"] = number(now + 1_200)
                    }, "invalid_grant"
                ),
                ("a time beyond all numbers", { $0.claims["exp"] = number(.max) }, "invalid_grant"),
            ]
            for (name, spoil, code) in cases {
                var draft = try AssertionDraft(client)
                spoil(&draft)
                let answer = try await client.answer(client.tokenRequest(try draft.signed()))
                #expect(answer.status == 400, "\(name)")
                #expect(answer.json?["error"]?.string == code, "\(name)")
                #expect(answer.json?["error_description"]?.string?.isEmpty == false, "\(name)")
            }
            #expect(client.sandbox.received(.oauth).allSatisfy { $0.refused != nil })
        }
    }

    @Test("a signature of other content, or none, is rejected")
    func refusesSignatures() async throws {
        try await withSandbox { client in
            let right = try AssertionDraft(client).signed().split(separator: ".").map(String.init)
            var other = try AssertionDraft(client)
            other.claims["sub"] = "someone"
            let foreign = try other.signed().split(separator: ".").map(String.init)
            let spoiled = [
                "\(right[0]).\(foreign[1]).\(right[2])", "\(right[0]).\(right[1]).", "\(right[0]).\(right[1])",
                "\(right[0]).\(right[1]).AAAA", "", "a.b.c",
            ]
            for assertion in spoiled {
                let answer = try await client.answer(client.tokenRequest(assertion))
                #expect(answer.status == 400, "\(assertion)")
                #expect(answer.json?["error"] == "invalid_grant", "\(assertion)")
            }
        }
    }

    @Test("an invalid form is an invalid request, and another grant type is unsupported")
    func refusesForms() async throws {
        try await withSandbox { client in
            let assertion = try AssertionDraft(client).signed()
            let right = client.tokenRequest(assertion)
            var asJSON = right
            asJSON.headers = [(name: "content-type", value: "application/json")]
            var twice = right
            twice.body += Array("&assertion=x".utf8)
            var bare = right
            bare.body = []
            var password = right
            password.body = Array("grant_type=password&assertion=\(assertion)".utf8)
            var unsaid = right
            unsaid.body = Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer".utf8)
            let cases = [
                (asJSON, "invalid_request"), (twice, "invalid_request"), (bare, "invalid_request"),
                (unsaid, "invalid_request"), (password, "unsupported_grant_type"),
            ]
            for (request, code) in cases {
                let answer = try await client.answer(request)
                #expect(answer.status == 400)
                #expect(answer.json?["error"]?.string == code)
            }
        }
    }

    @Test("the record of an assertion contains its claims and never its signature")
    func recordsClaims() async throws {
        try await withSandbox { client in
            let assertion = try AssertionDraft(client).signed()
            _ = try await client.answer(client.tokenRequest(assertion))
            let received = try #require(client.sandbox.received(.oauth).first)
            #expect(received.body.at("assertion/header/alg") == "RS256")
            #expect(received.body.at("assertion/claims/iss") != nil)
            #expect(received.answer == .init(status: 200, reason: nil))
            let shown = String(decoding: JSONWriter.canonicalBytes(of: received.json), as: UTF8.self)
            #expect(!shown.contains(try #require(assertion.split(separator: ".").last)))
        }
    }
}
