import BellhopRules
import TestSupport
import Testing

@testable import Sandbox

/// A body that FCM rejects, with the expected violation.
struct RefusedBody: Sendable, CustomTestStringConvertible {
    let body: String
    /// The field of the first violation.
    let field: String
    /// Whether the body's form is wrong.
    ///
    /// In this case the answer has no FCM error code.
    var isFormFault = false

    var testDescription: String { field }

    static func form(_ field: String, _ message: String) -> RefusedBody {
        RefusedBody(body: #"{"message":{\#(message)}}"#, field: field, isFormFault: true)
    }

    static func rule(_ field: String, _ message: String) -> RefusedBody {
        RefusedBody(body: #"{"message":{\#(message)}}"#, field: field)
    }

    static let all: [RefusedBody] = [
        form("message", #""token":"t","nonsense":1"#),
        form("message.android", #""token":"t","android":{"time_to_live":"5s"}"#),
        form("message.notification", #""token":"t","notification":{"title":"a","subtitle":"b"}"#),
        form("message.token", #""token":12"#),
        form("message.notification", #""token":"t","notification":"hello""#),
        form("message.notification.title", #""token":"t","notification":{"title":5}"#),
        form("message.data[1].value", #""token":"t","data":{"a":"b","n":5}"#),
        form("message.data[0].value", #""token":"t","data":{"a":{"b":"c"}}"#),
        form("message.data", #""token":"t","data":["a"]"#),
        form("message.android.data[0].value", #""token":"t","android":{"data":{"a":true}}"#),
        form("message.android.priority", #""token":"t","android":{"priority":"urgent"}"#),
        form("message.android.ttl", #""token":"t","android":{"ttl":3600}"#),
        form("message.android.ttl", #""token":"t","android":{"ttl":"3600"}"#),
        form("message.android.ttl", #""token":"t","android":{"ttl":"1.s"}"#),
        form("message.android.ttl", #""token":"t","android":{"ttl":"99999999999999999999s"}"#),
        form("message.android.direct_boot_ok", #""token":"t","android":{"direct_boot_ok":"yes"}"#),
        form(
            "message.android.notification.visibility",
            #""token":"t","android":{"notification":{"visibility":"private"}}"#
        ),
        form(
            "message.android.notification.notification_priority",
            #""token":"t","android":{"notification":{"notification_priority":"HIGH"}}"#
        ),
        form(
            "message.android.notification.notification_count",
            #""token":"t","android":{"notification":{"notification_count":1.5}}"#
        ),
        form(
            "message.android.notification.notification_count",
            #""token":"t","android":{"notification":{"notification_count":99999999999}}"#
        ),
        form(
            "message.android.notification.event_time",
            #""token":"t","android":{"notification":{"event_time":"yesterday"}}"#
        ),
        form(
            "message.android.notification.vibrate_timings[1]",
            #""token":"t","android":{"notification":{"vibrate_timings":["1s",2]}}"#
        ),
        form("message.android.notification.sticky", #""token":"t","android":{"notification":{"sticky":1}}"#),
        form("message.apns.headers[0].value", #""token":"t","apns":{"headers":{"apns-priority":10}}"#),
        form("message.apns.payload", #""token":"t","apns":{"payload":"aps"}"#),
        form("message.webpush.headers[0].value", #""token":"t","webpush":{"headers":{"TTL":60}}"#),
        form("message.android.collapse_key", #""token":"t","android":{"collapse_key":"a","collapseKey":"b"}"#),

        rule("message", #""notification":{"title":"a"}"#),
        rule("message", #""token":"t","topic":"news""#),
        rule("message.token", #""token":"""#),
        rule("message.topic", #""topic":"bad topic""#),
        rule("message.condition", #""condition":"""#),
        rule("message.data.from", #""token":"t","data":{"from":"x"}"#),
        rule("message.data.gcm", #""token":"t","data":{"gcm":"x"}"#),
        rule("message.data.google.thing", #""token":"t","data":{"google.thing":"x"}"#),
        rule("message.android.data.gcm.x", #""token":"t","android":{"data":{"gcm.x":"x"}}"#),
        rule("message.android.ttl", #""token":"t","android":{"ttl":"-1s"}"#),
        rule("message.android.ttl", #""token":"t","android":{"ttl":"2419201s"}"#),
        rule("message.android.notification.color", #""token":"t","android":{"notification":{"color":"red"}}"#),
        rule("message.android.notification.color", ##""token":"t","android":{"notification":{"color":"#12345"}}"##),
        rule(
            "message.android.notification.notification_count",
            #""token":"t","android":{"notification":{"notification_count":-1}}"#
        ),
        rule(
            "message.android.notification.title_loc_key",
            #""token":"t","android":{"notification":{"title_loc_args":["a"]}}"#
        ),
        rule("message.apns.headers.apns-priority", #""token":"t","apns":{"headers":{"apns-priority":"7"}}"#),
        rule("message.apns.headers.apns-collapse-id", #""token":"t","apns":{"headers":{"apns-collapse-id":""}}"#),
        rule("message.webpush.fcm_options.link", #""token":"t","webpush":{"fcm_options":{"link":"http://a"}}"#),
        rule("message.webpush.headers.TTL", #""token":"t","webpush":{"headers":{"TTL":"soon"}}"#),
        rule("message.webpush.headers.Urgency", #""token":"t","webpush":{"headers":{"Urgency":"urgent"}}"#),
        rule("message.webpush.headers.Topic", #""token":"t","webpush":{"headers":{"Topic":"a topic"}}"#),
        rule(
            "message.webpush.headers.topic",
            #""token":"t","webpush":{"headers":{"topic":"123456789012345678901234567890123"}}"#
        ),
        rule("message.apns.headers.apns-expiration", #""token":"t","apns":{"headers":{"apns-expiration":"soon"}}"#),
        rule("message.apns.headers.apns-push-type", #""token":"t","apns":{"headers":{"apns-push-type":"loud"}}"#),
        rule("message.apns.headers.apns-id", #""token":"t","apns":{"headers":{"apns-id":"1"}}"#),
        rule("message.apns.headers.apns-colapse-id", #""token":"t","apns":{"headers":{"apns-colapse-id":"1"}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":1}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":{"badge":"1"}}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":{"sound":""}}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":{"mutable-content":true}}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":{"interruption-level":"x"}}}"#),
        rule("message.apns.payload.aps", #""token":"t","apns":{"payload":{"aps":{"thread":"x"}}}"#),
    ]
}

@Suite("Messages that FCM rejects", .limitedConcurrency, .timeLimit(.ofTest))
struct FCMRefusalTests {
    @Test("an invalid field returns 400 in Google's format and names the field")
    func refusesFields() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            for refused in RefusedBody.all {
                let answer = try await client.send(refused.body, bearer: bearer)
                #expect(answer.status == 400, "\(refused.body)")
                #expect(answer.json?.at("error/code") == 400, "\(refused.body)")
                #expect(answer.json?.at("error/status") == "INVALID_ARGUMENT", "\(refused.body)")
                #expect(answer.violatedField == refused.field, "\(refused.body)")
                #expect(answer.fcmErrorCode == (refused.isFormFault ? nil : "INVALID_ARGUMENT"), "\(refused.body)")
            }
            let received = client.sandbox.received(.fcm)
            #expect(received.count == RefusedBody.all.count)
            #expect(received.allSatisfy { $0.refused != nil && $0.answer?.status == 400 })
        }
    }

    @Test(
        "a body that is not a JSON object, or has another content type, is rejected",
        arguments: [
            ("", "application/json"), ("[]", "application/json"), ("{", "application/json"),
            (#"{"message":{"token":"t","token":"u"}}"#, "application/json"),
            (#"{"message":{"token":"t"}}"#, "text/plain"),
            (#"{"message":{"token":"t"}}"#, "application/x-www-form-urlencoded"),
        ]
    )
    func refusesOtherBodies(body: String, type: String) async throws {
        try await withSandbox { client in
            let answer = try await client.send(body, bearer: try await client.accessToken(), type: type)
            #expect(answer.status == 400)
            #expect(answer.json?.at("error/status") == "INVALID_ARGUMENT")
        }
    }

    @Test("a message over 4,096 bytes, or over 2,048 bytes for a topic, is rejected without details")
    func refusesSize() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            func body(_ target: String, _ bytes: Int) -> String {
                let text = String(repeating: "x", count: bytes - 1)
                return #"{"message":{\#(target),"data":{"k":"\#(text)"}}}"#
            }
            let cases = [
                (#""token":"t""#, 4_096, 200), (#""token":"t""#, 4_097, 400), (#""topic":"t""#, 2_048, 200),
                (#""topic":"t""#, 2_049, 400),
            ]
            for (target, bytes, status) in cases {
                let answer = try await client.send(body(target, bytes), bearer: bearer)
                #expect(answer.status == status, "\(target) \(bytes)")
                #expect(answer.json?.at("error/details") == nil)
                #expect(answer.json?.at("error/status") == (status == 200 ? nil : "INVALID_ARGUMENT"))
            }
            let apns = String(repeating: "y", count: 4_096)
            let large = #"{"message":{"token":"t","apns":{"payload":{"aps":{"alert":"\#(apns)"}}}}}"#
            #expect(try await client.send(large, bearer: bearer).status == 400)
        }
    }

    @Test("a missing or invalid token gets 401, and a token of another project gets 403")
    func refusesCredentials() async throws {
        try await withSandbox { client in
            let message = #"{"message":{"token":"device-1"}}"#
            let none = try await client.send(message, bearer: nil)
            #expect(none.status == 401)
            #expect(none.json?.at("error/status") == "UNAUTHENTICATED")
            #expect(none.headers["www-authenticate"] != nil)
            #expect(try await client.send(message, bearer: "ya29.made-up").status == 401)

            var foreign = client.request(message, bearer: try await client.accessToken())
            foreign.url = client.sandbox.fcmEndpoint + "/v1/projects/another/messages:send"
            let answer = try await client.answer(foreign)
            #expect(answer.status == 403)
            #expect(answer.json?.at("error/status") == "PERMISSION_DENIED")
            #expect(answer.fcmErrorCode == nil)
        }
    }

    @Test("other paths and methods get an HTML page, as from the real service's front end")
    func refusesPaths() async throws {
        try await withSandbox { client in
            for path in ["/v1/projects/bellhop-sandbox/messages", "/v1/projects//messages:send", "/fcm/send", "/"] {
                var request = client.request("{}", bearer: "x")
                request.url = client.sandbox.fcmEndpoint + path
                let answer = try await client.answer(request)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.json == nil, "\(path)")
            }
            var read = client.request("", bearer: "x")
            read.method = .get
            #expect(try await client.answer(read).status == 404)
            #expect(client.sandbox.summary.strays == 2)
        }
    }
}
