import BellhopRules
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("Pushes that APNs rejects", .limitedConcurrency, .timeLimit(.ofTest))
struct APNsRefusalTests {
    private static let uuid = "8e4f0b1a-3c5d-4e6f-8a9b-0c1d2e3f4a5b"

    @Test(
        "an invalid header is rejected with its reason",
        arguments: [
            ("apns-topic", nil, "MissingTopic"), ("apns-topic", "com.example.other", "TopicDisallowed"),
            ("apns-topic", "com example", "BadTopic"), ("apns-push-type", nil, "InvalidPushType"),
            ("apns-push-type", "loud", "InvalidPushType"), ("apns-push-type", "voip", "BadTopic"),
            ("apns-priority", "7", "BadPriority"), ("apns-expiration", "soon", "BadExpirationDate"),
            ("apns-expiration", "-1", "BadExpirationDate"), ("apns-expiration", "1800000000000", "BadExpirationDate"),
            ("apns-id", "8E4F0B1A-3C5D-4E6F-8A9B-0C1D2E3F4A5B", "BadMessageId"), ("apns-id", "1", "BadMessageId"),
            ("apns-collapse-id", String(repeating: "c", count: 65), "BadCollapseId"),
        ] as [(String, String?, String)]
    )
    func headers(name: String, value: String?, reason: String) async throws {
        try await withSandbox { client in
            let answer = try await client.push { $0.headers[name] = value }
            #expect(answer.status == 400)
            #expect(answer.reason == reason)
            #expect(client.sandbox.received(.apns).first?.refused?.hasPrefix(reason) == true)
        }
    }

    @Test("a duplicate header, and a background push with high priority or a visible part, are rejected")
    func combinations() async throws {
        try await withSandbox { client in
            let twice = try await client.push(extra: [("apns-priority", "5")])
            #expect(twice.reason == "DuplicateHeaders")
        }
        try await withSandbox { client in
            let hurried = try await client.push {
                $0.headers["apns-push-type"] = "background"
                $0.body = #"{"aps":{"content-available":1}}"#
            }
            #expect(hurried.reason == "BadPriority")
        }
        try await withSandbox { client in
            let loud = try await client.push {
                $0.headers["apns-push-type"] = "background"
                $0.headers["apns-priority"] = "5"
                $0.body = #"{"aps":{"content-available":1,"sound":"default"}}"#
            }
            #expect(loud.reason == "PayloadEmpty")
        }
    }

    @Test(
        "a payload that would show nothing, or something unintended, is rejected",
        arguments: [
            "", "words", "[]", "{}", #"{"aps":[]}"#, #"{"aps":{}}"#, #"{"aps":{"thread-id":"t"}}"#,
            #"{"aps":{"alert":""}}"#, #"{"aps":{"alert":{"titel":"t"}}}"#, #"{"aps":{"alert":{"title":1}}}"#,
            #"{"aps":{"badge":"1"}}"#, #"{"aps":{"badge":-1}}"#, #"{"aps":{"badge":1,"sound":""}}"#,
            #"{"aps":{"badge":1,"sound":{"volume":2}}}"#, #"{"aps":{"badge":1,"mutable-content":true}}"#,
            #"{"aps":{"badge":1,"interruption-level":"loud"}}"#, #"{"aps":{"badge":1,"link":"/"}}"#,
            #"{"aps":{"alert":{"loc-args":[1]}}}"#,
        ]
    )
    func payloads(body: String) async throws {
        try await withSandbox { client in
            let answer = try await client.push { $0.body = body }
            #expect(answer.status == 400)
            #expect(answer.reason == "PayloadEmpty")
        }
    }

    /// Separate from the attribute, since the compiler of Swift 6.0 crashes on closures there.
    private static let tokens: [(reason: String, change: @Sendable (inout APNsDraft) -> Void)] = [
        ("MissingProviderToken", { $0.scheme = nil }),
        ("InvalidProviderToken", { $0.scheme = "basic" }),
        ("InvalidProviderToken", { $0.spoilsSignature = true }),
        ("InvalidProviderToken", { $0.tokenHeader["alg"] = "RS256" }),
        ("InvalidProviderToken", { $0.tokenHeader["kid"] = "ANOTHERKEY" }),
        ("InvalidProviderToken", { $0.tokenHeader["kid"] = nil }),
        ("InvalidProviderToken", { $0.claims["iss"] = "ANOTHERTEA" }),
        ("InvalidProviderToken", { $0.claims["iat"] = nil }),
        ("InvalidProviderToken", { $0.claims["iat"] = .string("1800000000") }),
    ]

    @Test("an invalid provider token is rejected", arguments: tokens.indices)
    func providerToken(row: Int) async throws {
        let (reason, change) = Self.tokens[row]
        try await withSandbox { client in
            let answer = try await client.push(change)
            #expect(answer.status == 403)
            #expect(answer.reason == reason)
        }
    }

    @Test(
        "a provider token is accepted only within its period",
        arguments: [(-3_600, nil), (-3_601, "ExpiredProviderToken"), (60, nil), (61, "InvalidProviderToken")]
            as [(Int64, String?)]
    )
    func age(seconds: Int64, reason: String?) async throws {
        try await withSandbox { client in
            let now = client.time.now().microseconds / 1_000_000
            client.time.set(to: Instant(seconds: now))
            let answer = try await client.push { $0.claims["iat"] = .number(JSONNumber(now + seconds)) }
            #expect(answer.reason == reason)
            #expect(answer.status == (reason == nil ? 200 : 403))
        }
    }

    @Test("a connection that changes its token within 20 minutes gets 429")
    func tokenUpdates() async throws {
        try await withSandbox { client in
            #expect(try await client.push().status == 200)
            client.time.advance(by: .seconds(1_199))
            let early = try await client.push()
            #expect(early.status == 429)
            #expect(early.reason == "TooManyProviderTokenUpdates")
            client.time.advance(by: .seconds(1))
            #expect(try await client.push().status == 200)
        }
    }

    @Test(
        "a path that names no device is rejected",
        arguments: [
            ("/3/device/", 400, "MissingDeviceToken"), ("/3/device/abc", 400, "BadDeviceToken"),
            ("/3/device/xyz0", 400, "BadDeviceToken"), ("/3/devices/ab", 404, "BadPath"),
            ("/3/device/ab/cd", 404, "BadPath"), ("/", 404, "BadPath"),
        ]
    )
    func paths(path: String, status: Int, reason: String) async throws {
        try await withSandbox { client in
            let answer = try await client.push { $0.path = path }
            #expect(answer.status == status)
            #expect(answer.reason == reason)
        }
    }

    @Test("a method other than POST gets 405")
    func method() async throws {
        try await withSandbox { client in
            let answer = try await client.push { $0.method = .get }
            #expect(answer.status == 405)
            #expect(answer.reason == "MethodNotAllowed")
        }
    }

    @Test("FCM's host rejects a device's path, and APNs' host rejects a project's path")
    func hosts() async throws {
        try await withSandbox { client in
            let draft = try APNsDraft(client)
            #expect(try await client.answer(draft.request(to: client.sandbox.fcmEndpoint)).status == 404)
            #expect(client.sandbox.received(.apns).isEmpty)
            #expect(try await client.push { $0.path = client.projectPath }.status == 404)
            #expect(client.sandbox.received(.fcm).isEmpty)
        }
    }
}
