import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("The stand-in for push services of browsers", .limitedConcurrency, .timeLimit(.ofTest))
struct WebPushStandInTests {
    typealias Change = @Sendable (inout BrowserPushDraft) throws -> Void

    struct Wrong: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int
        let number: Int?
        let change: Change

        var testDescription: String { name }

        init(_ name: String, _ status: Int, _ number: Int?, _ change: @escaping Change) {
            self.name = name
            self.status = status
            self.number = number
            self.change = change
        }
    }

    private func withDraft(_ body: (inout BrowserPushDraft) async throws -> Void) async throws {
        try await withSandbox { client in
            var draft = try BrowserPushDraft(client, to: client.sandbox.makeWebPushSubscription())
            try await body(&draft)
        }
    }

    @Test("a valid message gets 201 with a location, and the record contains the service worker's data")
    func accepted() async throws {
        try await withDraft { draft in
            let answer = try await draft.send()
            #expect(answer.status == 201)
            #expect(answer.headers["location"]?.hasPrefix("https://localhost:") == true)
            #expect(answer.headers["ttl"] == "60")
            let received = try #require(draft.client.sandbox.received(.webpush).first)
            #expect(received.refused == nil && received.token == draft.endpoint && received.tag == "n1")
            #expect(received.body["payload"] == ["title": "t", "tag": "n1"])
            #expect(received.body["paddedLength"] == .number(JSONNumber(Int64(draft.payload.count + 3))))
            #expect(received.body["vapid"]?["claims"]?["sub"] == "mailto:ops@example.com")
            let shown = String(decoding: try await draft.client.control(.get, "/received").body, as: UTF8.self)
            #expect(!shown.contains(try #require(try draft.signIn().split(separator: ".").last).prefix(40)))
        }
    }

    static let wrong: [Wrong] = [
        Wrong("no TTL", 400, 112) { $0.headers["ttl"] = nil },
        Wrong("a negative TTL", 400, 112) { $0.headers["ttl"] = "-1" },
        Wrong("a TTL beyond a month", 400, 112) { $0.headers["ttl"] = "2592001" },
        Wrong("a long topic", 400, 113) { $0.headers["topic"] = String(repeating: "a", count: 33) },
        Wrong("a topic with a dot", 400, 113) { $0.headers["topic"] = "a.b" },
        Wrong("an unknown urgency", 400, 110) { $0.headers["urgency"] = "urgent" },
        Wrong("no content encoding", 400, 110) { $0.headers["content-encoding"] = nil },
        Wrong("another content encoding", 400, 110) { $0.headers["content-encoding"] = "aesgcm" },
        Wrong("no sign-in", 401, 109) { $0.authorization = "" },
        Wrong("a bearer token", 401, 109) { $0.authorization = "Bearer abc" },
        Wrong("a sign-in without key", 401, 109) { $0.authorization = "vapid t=a.b.c" },
        Wrong("a token signed by somebody else", 401, 109) { draft in
            let other = try PrivateKey.generateP256().publicKey().p256Point()
            let signIn = try draft.signIn().split(separator: " ")[1]
            draft.authorization = "vapid \(signIn) k=\(Base64URL.encode(other))"
        },
        Wrong("a token for another origin", 401, 109) { $0.claims["aud"] = "https://localhost" },
        Wrong("a token with a path in its aud", 401, 109) { draft in
            draft.claims["aud"] = .string((draft.claims["aud"]?.string ?? "") + "/")
        },
        Wrong("a token that has expired", 401, 109) { $0.claims["exp"] = 1_700_000_000 },
        Wrong("a token for more than a day", 401, 109) { draft in
            let late = draft.client.time.now().microseconds / 1_000_000 + 86_401
            draft.claims["exp"] = .number(JSONNumber(late))
        },
        Wrong("a token without sub", 401, 109) { $0.claims["sub"] = nil },
        Wrong("a token whose sub is on localhost", 401, 109) { $0.claims["sub"] = "mailto:a@localhost" },
        Wrong("a token that names another algorithm", 401, 109) { $0.header = #"{"typ":"JWT","alg":"none"}"# },
        Wrong("a body beyond 4,096 bytes", 413, 104) { $0.ending = [2] + [UInt8](repeating: 0, count: 4096) },
        Wrong("a body that was changed", 400, 111) { draft in
            draft.change = { body in
                var body = body
                body[100] ^= 1
                return body
            }
        },
        Wrong("a body that was cut", 400, 111) { $0.change = { Array($0.prefix(90)) } },
        Wrong("no body", 400, 111) { $0.change = { _ in [] } },
        Wrong("a record that is not the last", 400, 111) { $0.ending = [1, 0] },
        Wrong("a record without delimiter", 400, 111) {
            $0.payload = []
            $0.ending = [0, 0, 0, 0]
        },
        Wrong("a payload that is no JSON", 400, 111) { $0.payload = Array("hello".utf8) },
        Wrong("a sender's key off the curve", 400, 111) { draft in
            draft.change = { body in
                var body = body
                body[85] ^= 1
                return body
            }
        },
    ]

    @Test("a message that a service or browser would reject gets Mozilla's error number", arguments: wrong)
    func refused(_ wrong: Wrong) async throws {
        try await withDraft { draft in
            try wrong.change(&draft)
            let answer = try await draft.send()
            #expect(answer.status == wrong.status)
            #expect(answer.json?["errno"] == wrong.number.map { .number(JSONNumber(Int64($0))) })
            let received = try #require(draft.client.sandbox.received(.webpush).first)
            #expect(received.refused != nil)
        }
    }

    @Test("a subscription with a key accepts only messages of that key")
    func boundKey() async throws {
        try await withSandbox { client in
            let key = try PrivateKey.generateP256()
            let point = Base64URL.encode(try key.publicKey().p256Point())
            let subscription = try client.sandbox.makeWebPushSubscription(applicationServerKey: point)
            #expect(try await BrowserPushDraft(client, to: subscription, key: key).send().status == 201)
            let answer = try await BrowserPushDraft(client, to: subscription).send()
            #expect(answer.status == 403)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("do not correspond"))
        }
    }

    @Test("the control interface makes and ends subscriptions: an ended one gets 410, an unknown one 404")
    func control() async throws {
        try await withSandbox { client in
            let made = try await client.control(.post, "/subscriptions")
            #expect(made.status == 201)
            let subscription = try #require(made.json?.object)
            let draft = try BrowserPushDraft(client, to: subscription)
            #expect(try await draft.send().status == 201)
            let id = try #require(draft.endpoint.split(separator: "/").last)
            #expect(try await client.control(.delete, "/subscriptions/\(id)").status == 204)
            #expect(try await client.control(.delete, "/subscriptions/\(id)").status == 404)
            #expect(try await draft.send().json?["errno"] == 106)
            #expect(try await draft.send(to: draft.endpoint + "x").json?["errno"] == 102)
            let bound = try await client.control(.post, "/subscriptions", #"{"applicationServerKey":"abc"}"#)
            let other = try BrowserPushDraft(client, to: try #require(bound.json?.object))
            #expect(try await other.send().status == 403)
            for body in ["[]", "{", #"{"applicationServerKey":1}"#, #"{"key":"a"}"#] {
                #expect(try await client.control(.post, "/subscriptions", body).status == 400)
            }
        }
    }

    @Test("faults have the format of Mozilla, of Apple with a reason, or plain text with a reason of several words")
    func faults() async throws {
        try await withDraft { draft in
            try await draft.client.setFaults(
                """
                [{"provider":"webpush","status":503,"retryAfter":7,"count":1},
                 {"provider":"webpush","status":403,"reason":"BadJwtToken","count":1},
                 {"provider":"webpush","status":403,"reason":"do not correspond","match":"/wp/","count":1}]
                """
            )
            let first = try await draft.send()
            #expect(first.status == 503 && first.json?["errno"] == 201 && first.retryAfterSeconds == 7)
            #expect(try await draft.send().json == ["reason": "BadJwtToken"])
            #expect(try await String(decoding: draft.send().body, as: UTF8.self) == "do not correspond")
            #expect(try await draft.send().status == 201)
        }
    }

    @Test("only POST is accepted")
    func methods() async throws {
        try await withDraft { draft in
            let answer = try await draft.client.answer(TransferRequest(.get, url: draft.endpoint))
            #expect(answer.status == 405)
        }
    }
}
