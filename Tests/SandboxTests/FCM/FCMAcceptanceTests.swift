import BellhopRules
import HTTPTransfer
import TestSupport
import Testing

@testable import Sandbox

@Suite("Messages that FCM accepts", .limitedConcurrency, .timeLimit(.ofTest))
struct FCMAcceptanceTests {
    private static let everything = #"""
        {"message":{"token":"device-1","notification":{"title":"t","body":"b","image":"https://i"},
        "data":{"a":"b","collapse_key":"c"},"fcm_options":{"analytics_label":"l"},
        "android":{"collapse_key":"k","priority":"high","ttl":"3600.5s","restricted_package_name":"p","data":{"x":"y"},
        "direct_boot_ok":true,"fcm_options":{"analytics_label":"l"},
        "notification":{"title":"t","color":"#aaBB09","tag":"noti_1","body_loc_key":"k","body_loc_args":["1"],
        "channel_id":"c","sticky":false,"event_time":"2026-02-15T13:45:00.5Z","notification_priority":"PRIORITY_HIGH",
        "vibrate_timings":["1s","0.5s"],"visibility":"PRIVATE","notification_count":3,"proxy":"ALLOW",
        "light_settings":{"color":{"red":1,"green":0.5,"blue":0,"alpha":1},"light_on_duration":"1s"}}},
        "apns":{"headers":{"apns-priority":"10","apns-collapse-id":"noti_1","apns-expiration":"0"},
        "payload":{"aps":{"alert":{"title":"t"},"badge":1},"own":{"deep":[1,null]}},"fcm_options":{"image":"i"}},
        "webpush":{"headers":{"TTL":"60","Urgency":"high"},"data":{"a":"b"},"notification":{"title":"t","actions":[]},
        "fcm_options":{"link":"https://example.com/"}}}}
        """#

    @Test(
        "valid messages in all their forms are accepted",
        arguments: [
            everything, #"{"message":{"token":"t"}}"#, #"{"message":{"topic":"news"}}"#,
            #"{"message":{"condition":"'a' in topics"}}"#,
            #"{"message":{"token":"t","android":{"collapseKey":"k","ttl":"0s","priority":"NORMAL"}}}"#,
            #"{"validateOnly":false,"message":{"token":"t","notification":null,"android":{"ttl":"2419200s"}}}"#,
        ]
    )
    func takesMessages(body: String) async throws {
        try await withSandbox { client in
            let answer = try await client.send(body, bearer: try await client.accessToken())
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            let name = try #require(answer.json?["name"]?.string)
            #expect(name.hasPrefix("projects/bellhop-sandbox/messages/"))
            #expect(client.sandbox.received(.fcm).first?.refused == nil)
        }
    }

    @Test("every message gets a unique name, and many streams share a connection")
    func takesManyAtOnce() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            let requests = (0..<500).map { client.request(#"{"message":{"token":"device-\#($0)"}}"#, bearer: bearer) }
            try await client.withPushTransport { transport in
                let names = await transport.send(requests).compactMap { outcome -> String? in
                    guard case .answered(let answer) = outcome, answer.status == 200 else { return nil }
                    return answer.json?["name"]?.string
                }
                #expect(Set(names).count == 500)
            }
            let received = client.sandbox.received(.fcm)
            #expect(Set(received.compactMap(\.token)).count == 500)
            #expect(Set(received.map(\.connection)).count == 1)
        }
    }

    @Test("a validate_only message is checked like any other and is not sent")
    func rehearses() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            let right = try await client.send(#"{"validate_only":true,"message":{"token":"t"}}"#, bearer: bearer)
            #expect(right.json?["name"] == "projects/bellhop-sandbox/messages/fake_message_id")
            let dead = try await client.send(#"{"validate_only":true,"message":{"token":"dead-1"}}"#, bearer: bearer)
            #expect(dead.status == 404)
        }
    }

    @Test(
        "the token determines the result of a message",
        arguments: [
            ("dead-1", 404, "NOT_FOUND", "UNREGISTERED"), ("invalid-1", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
            ("mismatch-1", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
            ("white space", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        ]
    )
    func tellsOfDevices(token: String, status: Int, canonical: String, code: String) async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            let answer = try await client.send(#"{"message":{"token":"\#(token)"}}"#, bearer: bearer)
            #expect(answer.status == status)
            #expect(answer.json?.at("error/status")?.string == canonical)
            #expect(answer.fcmErrorCode == code)
            let received = try #require(client.sandbox.received(.fcm).first)
            #expect(received.refused == nil, "the request itself is right")
            #expect(received.answer == .init(status: status, reason: code))
            #expect(received.token == token)
        }
    }

    @Test("an invalid token gets the error message that senders look for")
    func wordsTheInvalidToken() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            let answer = try await client.send(#"{"message":{"token":"invalid-9"}}"#, bearer: bearer)
            let message = try #require(answer.json?.at("error/message")?.string)
            #expect(message == "The registration token is not a valid FCM registration token")
            #expect(answer.violatedField == "message.token")
        }
    }
}
