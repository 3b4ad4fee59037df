import BellhopRules
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("Pushes that APNs accepts", .limitedConcurrency, .timeLimit(.ofTest))
struct APNsAcceptanceTests {
    @Test("a valid push is accepted, its id is returned, and it is recorded without its provider token")
    func takes() async throws {
        try await withSandbox { client in
            let answer = try await client.push()
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
            #expect(answer.headers["apns-id"] == "8e4f0b1a-3c5d-4e6f-8a9b-0c1d2e3f4a5b")
            #expect(answer.headers["apns-unique-id"] == nil)
            let received = try #require(client.sandbox.received(.apns).first)
            #expect(received.token == "00fc13adff785122")
            #expect(received.tag == "noti_1")
            #expect(received.refused == nil)
            #expect(received.headers.first { $0.name == "authorization" }?.value == "bearer [masked]")
            #expect(received.json.at("body/aps/badge") == 1)
        }
    }

    @Test(
        "payloads of every visible kind are accepted",
        arguments: [
            #"{"aps":{"alert":"words"}}"#, #"{"aps":{"badge":0}}"#, #"{"aps":{"sound":"default"}}"#,
            #"""
            {"aps":{"alert":{"title":"t","subtitle":"s","body":"b","loc-key":"k","loc-args":["1"]},
            "sound":{"critical":1,"name":"n","volume":0.5},"thread-id":"t","category":"c","mutable-content":1,
            "interruption-level":"time-sensitive","relevance-score":0.5,"target-content-id":"x"},"own":{"deep":[null]}}
            """#,
        ]
    )
    func takesPayloads(body: String) async throws {
        try await withSandbox { client in
            let answer = try await client.push { $0.body = body }
            #expect(answer.status == 200, "\(answer.reason ?? "")")
        }
    }

    @Test("a push without optional headers is accepted and gets an id, and a background push needs no text")
    func takesLess() async throws {
        try await withSandbox { client in
            let bare = try await client.push {
                $0.headers = ["apns-topic": "com.example.bellhop", "apns-push-type": "alert"]
            }
            #expect(bare.status == 200)
            #expect(APNsHeaderRules.isUUID(try #require(bare.headers["apns-id"])))
        }
        try await withSandbox { client in
            let background = try await client.push {
                $0.headers["apns-push-type"] = "background"
                $0.headers["apns-priority"] = "5"
                $0.body = #"{"aps":{"content-available":1}}"#
            }
            #expect(background.status == 200)
        }
    }

    @Test("a body of 4,096 bytes is accepted, and a larger one is rejected")
    func takesUpToTheLimit() async throws {
        try await withSandbox { client in
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            let answer = try await client.push {
                $0.body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4096 - frame))"}}"#
            }
            #expect(answer.status == 200)
        }
        try await withSandbox { client in
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            let answer = try await client.push {
                $0.body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4097 - frame))"}}"#
            }
            #expect(answer.status == 413)
            #expect(answer.reason == "PayloadTooLarge")
        }
    }

    @Test(
        "the device token determines the result of a push, in either environment",
        arguments: [
            ("dead00", 410, "Unregistered"), ("0ff000", 410, "ExpiredToken"), ("bad000", 400, "BadDeviceToken"),
            ("f0f000", 400, "DeviceTokenNotForTopic"),
        ]
    )
    func tellsOfDevices(token: String, status: Int, reason: String) async throws {
        try await withSandbox { client in
            let apns = client.sandbox
            for (endpoint, prefix) in [(apns.apnsEndpoint, ""), (apns.apnsSandboxEndpoint, "cafe")] {
                var draft = try APNsDraft(client)
                draft.path = "/3/device/\(prefix)\(token)"
                let answer = try await client.answer(draft.request(to: endpoint))
                #expect(answer.status == status)
                #expect(answer.reason == reason)
                let now = client.time.now().microseconds / 1_000
                #expect(answer.json?["timestamp"]?.number?.int64 == (status == 410 ? now : nil))
            }
            #expect(client.sandbox.received(.apns).allSatisfy { $0.refused == nil })
        }
    }

    @Test("a device token of one environment is invalid in the other")
    func keepsEnvironmentsApart() async throws {
        try await withSandbox { client in
            let apns = client.sandbox
            let ways = [
                (apns.apnsEndpoint, "cafe00", 400), (apns.apnsSandboxEndpoint, "ab00", 400),
                (apns.apnsSandboxEndpoint, "cafe00", 200),
            ]
            var draft = try APNsDraft(client)
            try draft.seal()
            for (endpoint, token, status) in ways {
                draft.path = "/3/device/\(token)"
                let answer = try await client.answer(draft.request(to: endpoint))
                #expect(answer.status == status)
                #expect(answer.reason == (status == 400 ? "BadDeviceToken" : nil))
                #expect((answer.headers["apns-unique-id"] != nil) == (status == 200))
            }
        }
    }

    @Test("one stream is allowed until a provider token was accepted, and many afterwards")
    func allowsStreams() async throws {
        try await withSandbox { client in
            var options = HTTP2TransportOptions(name: "apns-tests")
            options.authoritiesFile = client.sandbox.caFile
            options.maxConnectionsPerHost = 1
            let transport = try HTTP2Transport(options)
            var draft = try APNsDraft(client)
            try draft.seal()
            let requests = try (0..<8).map { number in
                draft.path = "/3/device/0\(number)"
                return try draft.request(to: client.sandbox.apnsEndpoint)
            }
            let isSlow = SandboxFault(.apns, .delay, delay: .seconds(600))
            client.sandbox.setFaults([isSlow.limited(count: 1)])
            let waiting = Task { await transport.send(requests) }
            try await eventually { client.sandbox.received(.apns).count > 0 }
            // All requests that arrived with the first were recorded before the other client was answered.
            #expect(try await client.push { $0.path = "/3/device/ff" }.status == 200)
            #expect(client.sandbox.received(.apns).compactMap(\.token) == ["00", "ff"])
            waiting.cancel()
            _ = await waiting.value

            client.sandbox.forgetReceived()
            _ = await transport.send([requests[0]])
            client.sandbox.setFaults([isSlow])
            let many = Task { await transport.send(requests) }
            try await eventually { client.sandbox.received(.apns).count == 9 }
            #expect(Set(client.sandbox.received(.apns).map(\.connection)).count == 1)
            many.cancel()
            _ = await many.value
            await transport.close()
        }
    }

    @Test("a fault is answered in APNs' format, with the usual reason or the requested one")
    func answersFaults() async throws {
        try await withSandbox { client in
            let rows: [(String, Int, String?)] = [
                (#"{"provider":"apns","status":503}"#, 503, "ServiceUnavailable"),
                (#"{"provider":"apns","status":503,"reason":"Shutdown"}"#, 503, "Shutdown"),
                (#"{"provider":"apns","status":410}"#, 410, "Unregistered"),
                (#"{"provider":"apns","status":429,"retryAfter":7}"#, 429, "TooManyRequests"),
                (#"{"provider":"apns","status":502}"#, 502, nil),
            ]
            let draft = try APNsDraft(client).request(to: client.sandbox.apnsEndpoint)
            for (fault, status, reason) in rows {
                try await client.setFaults("[\(fault)]")
                let answer = try await client.answer(draft)
                #expect(answer.status == status)
                #expect(answer.reason == reason)
                #expect((answer.json?["timestamp"] != nil) == (status == 410))
                #expect(answer.retryAfterSeconds == (status == 429 ? 7 : nil))
            }
        }
    }
}
