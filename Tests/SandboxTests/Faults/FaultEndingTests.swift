import BellhopRules
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

/// Tests of faults that end a request without a complete answer.
@Suite("Faults that break an answer", .limitedConcurrency, .timeLimit(.ofTest))
struct FaultEndingTests {
    private func message(_ token: String) -> String { #"{"message":{"token":"\#(token)"}}"# }

    @Test("a reset stream and a partial answer leave the outcome unknown, and are recorded without an answer")
    func unknown() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            for effect in ["reset", "partial"] {
                try await client.setFaults(#"[{"provider":"fcm","\#(effect)":true,"count":1}]"#)
                try await client.withPushTransport { transport in
                    let request = client.request(message(effect), bearer: bearer)
                    let outcomes = await transport.send([request])
                    guard case .unknown(let error) = try #require(outcomes.first) else {
                        throw Unanswered(outcome: "\(outcomes)")
                    }
                    #expect(error.code == .connectionLost, "\(effect): \(error)")
                    let received = try #require(client.sandbox.received(.fcm).last)
                    #expect(received.token == effect)
                    #expect(received.answer == nil)
                    let again = await transport.send([request])
                    guard case .answered(let answer) = try #require(again.first) else {
                        throw Unanswered(outcome: "\(again)")
                    }
                    // A reset stream does not affect its connection.
                    #expect(answer.newConnections == (effect == "reset" ? 0 : 1))
                }
            }
        }
    }

    @Test("a reset affects only one stream")
    func resetAlone() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"fcm","match":"unlucky","reset":true}]"#)
            try await client.withPushTransport { transport in
                let tokens = ["a", "unlucky", "b"]
                let outcomes = await transport.send(tokens.map { client.request(message($0), bearer: bearer) })
                let isAnswered = outcomes.map { if case .answered = $0 { true } else { false } }
                #expect(isAnswered == [true, false, true])
            }
        }
    }

    @Test("a GOAWAY marks the request as unprocessed, and the sender's transport sends it again")
    func goAway() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"fcm","match":"device-5","goAway":true,"count":1}]"#)
            try await client.withPushTransport { transport in
                let requests = (0..<20).map { client.request(message("device-\($0)"), bearer: bearer) }
                let outcomes = await transport.send(requests)
                let answered = outcomes.count { if case .answered = $0 { true } else { false } }
                #expect(answered == 20)
                #expect(client.sandbox.count(.fcm, by: .token).counts["device-5"] == 2)
                #expect(Set(client.sandbox.received(.fcm).map(\.connection)).count == 2)
            }
        }
    }

    @Test("a slow answer arrives complete and delays no other answer, and an empty slow answer arrives, too")
    func drip() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(
                #"[{"provider":"fcm","match":"slow","dripMs":2},{"provider":"apns","dripMs":2}]"#
            )
            try await client.withPushTransport { transport in
                let tokens = ["slow", "quick"]
                let outcomes = await transport.send(tokens.map { client.request(message($0), bearer: bearer) })
                for outcome in outcomes {
                    guard case .answered(let answer) = outcome else { throw Unanswered(outcome: "\(outcomes)") }
                    #expect(answer.json?["name"]?.string?.hasPrefix("projects/") == true)
                }
            }
            let push = try await client.push()
            #expect(push.status == 200 && push.body.isEmpty)
        }
    }

    @Test("a slow answer is not complete before its time", arguments: ["fcm", "apns"])
    func dripTakesTime(provider: String) async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"\#(provider)","dripMs":60000}]"#)
            try await client.withPushTransport { transport in
                let isFCM = provider == "fcm"
                var request = client.request(message("slow"), bearer: bearer)
                if !isFCM { request = try APNsDraft(client).request(to: client.sandbox.apnsEndpoint) }
                request.timeouts.total = .seconds(10)
                guard case .unknown(let error) = try #require(await transport.send([request]).first) else {
                    throw Unanswered(outcome: "answered at once")
                }
                #expect(error.code == .timeout)
                #expect(client.sandbox.received().last?.answer?.status == 200)
            }
        }
    }

    @Test("faults are shown as they were set")
    func shown() async throws {
        try await withSandbox { client in
            let faults = #"[{"dripMs":5,"fired":0,"provider":"apns","rate":1}"#
            let set =
                #"[{"provider":"apns","dripMs":5},{"provider":"fcm","reset":true},{"provider":"fcm","partial":true},"#
            try await client.setFaults(set + #"{"provider":"fcm","goAway":true,"delayMs":3}]"#)
            let shown = try await client.control(.get, "/faults")
            #expect(String(decoding: shown.body, as: UTF8.self).hasPrefix(faults))
            #expect(shown.json?.array?.map { $0["reset"] ?? $0["partial"] ?? $0["goAway"] } == [nil, true, true, true])
        }
    }

    @Test(
        "a wrong certificate is rejected by a client that checks it",
        arguments: [SandboxOptions.CertificateFault.ofAnotherHost, .expired]
    )
    func certificates(fault: SandboxOptions.CertificateFault) async throws {
        try await withSandbox {
            $0.certificateFault = fault
        } _: { client in
            try await client.withPushTransport { transport in
                let outcomes = await transport.send([client.request(message("a"), bearer: nil)])
                guard case .notSent(let error) = try #require(outcomes.first) else {
                    throw Unanswered(outcome: "\(outcomes)")
                }
                #expect(error.code == .certificate, "\(error)")
                #expect(client.sandbox.summary.total == 0)
            }
        }
    }
}
