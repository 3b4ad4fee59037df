import BellhopRules
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("Faults", .limitedConcurrency, .timeLimit(.ofTest))
struct FaultTests {
    private func message(_ token: String) -> String { #"{"message":{"token":"\#(token)"}}"# }

    @Test(
        "a status is answered in the real service's format",
        arguments: [
            (#"{"status":503,"retryAfter":7}"#, 503, "UNAVAILABLE", "UNAVAILABLE"),
            (#"{"status":429}"#, 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
            (#"{"status":500}"#, 500, "INTERNAL", "INTERNAL"),
            (#"{"status":401}"#, 401, "UNAUTHENTICATED", nil),
            (#"{"status":403,"reason":"SENDER_ID_MISMATCH"}"#, 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
            (#"{"status":404,"reason":"UNREGISTERED"}"#, 404, "NOT_FOUND", "UNREGISTERED"),
            (#"{"status":404}"#, 404, "NOT_FOUND", nil),
            (#"{"status":400,"reason":"FAILED_PRECONDITION"}"#, 400, "FAILED_PRECONDITION", nil),
            (#"{"status":401,"reason":"THIRD_PARTY_AUTH_ERROR"}"#, 401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
        ] as [(String, Int, String, String?)]
    )
    func answersStatus(fault: String, status: Int, canonical: String, code: String?) async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults("[\(#"{"provider":"fcm","# + fault.dropFirst())]")
            let answer = try await client.send(message("device-1"), bearer: bearer)
            #expect(answer.status == status)
            #expect(answer.json?.at("error/code")?.number?.int64 == Int64(status))
            #expect(answer.json?.at("error/status")?.string == canonical)
            #expect(answer.fcmErrorCode == code)
            #expect(answer.retryAfterSeconds == (fault.contains("retryAfter") ? 7 : nil))
            #expect(client.sandbox.received(.fcm).map(\.answer?.status) == [status])

            _ = try await client.control(.delete, "/faults")
            #expect(try await client.send(message("device-1"), bearer: bearer).status == 200)
        }
    }

    @Test("a gateway's errors are HTML pages, not JSON")
    func answersPages() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            client.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 502)))])
            let answer = try await client.send(message("device-1"), bearer: bearer)
            #expect(answer.status == 502)
            #expect(answer.json == nil)
            #expect(answer.headers["content-type"]?.hasPrefix("text/html") == true)
        }
    }

    @Test("the token endpoint fails on request and then issues no token")
    func failsTokens() async throws {
        try await withSandbox { client in
            try await client.setFaults(#"[{"provider":"oauth","status":503,"count":1}]"#)
            let request = client.tokenRequest(try AssertionDraft(client).signed())
            let answer = try await client.answer(request)
            #expect(answer.status == 503)
            #expect(answer.json?["error"] == "temporarily_unavailable")
            #expect(answer.json?["access_token"] == nil)
            #expect(try await client.answer(request).status == 200)
        }
    }

    @Test("a fault affects only the requests that it matches, by token or by path")
    func matches() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"fcm","match":"unlucky","status":503}]"#)
            #expect(try await client.send(message("unlucky-1"), bearer: bearer).status == 503)
            #expect(try await client.send(message("lucky-1"), bearer: bearer).status == 200)
            try await client.setFaults(#"[{"provider":"fcm","match":"/projects/bellhop-","status":500}]"#)
            #expect(try await client.send(message("lucky-1"), bearer: bearer).status == 500)
            try await client.setFaults(#"[{"provider":"oauth","match":"lucky","status":500}]"#)
            #expect(try await client.send(message("lucky-1"), bearer: bearer).status == 200)
        }
    }

    @Test("a fault with a count ends after that number, and the next one in the list applies")
    func counts() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(
                #"[{"provider":"fcm","status":503,"count":2},{"provider":"fcm","status":500,"count":1}]"#
            )
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await client.send(message("device-1"), bearer: bearer).status) }
            #expect(statuses == [503, 503, 500, 200])
            let shown = try await client.control(.get, "/faults").json
            #expect(shown?.at("0/fired") == 2)
            #expect(shown?.at("1/fired") == 1)
        }
    }

    @Test("a rate affects that share of the requests, and the same requests for the same seed")
    func befallsAShare() throws {
        func run(seed: UInt64) -> [Bool] {
            let list = FaultList(seed: seed)
            list.replace(with: [SandboxFault(.fcm, .drop).limited(toRate: 0.2)])
            return (0..<5_000).map { _ in list.take(.fcm, token: "t", path: "/") != nil }
        }
        let first = run(seed: 7)
        #expect(first == run(seed: 7))
        #expect(first != run(seed: 8))
        // The range is 1,000 plus or minus five standard deviations of 5,000 draws.
        #expect((859...1_141).contains(first.count { $0 }))
        let never = FaultList(seed: 1)
        never.replace(with: [SandboxFault(.fcm, .drop).limited(toRate: 0)])
        #expect((0..<100).allSatisfy { _ in never.take(.fcm, token: nil, path: "/") == nil })
    }

    @Test("a delayed answer is the usual one and delays no other answer")
    func delays() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"fcm","match":"slow","delayMs":400}]"#)
            let started = ContinuousClock.now
            let requests = ["slow-1", "quick-1", "quick-2"].map { client.request(message($0), bearer: bearer) }
            try await client.withPushTransport { transport in
                async let slow = transport.send([requests[0]])
                let quick = await transport.send(Array(requests[1...]))
                #expect(quick.count == 2)
                guard case .answered(let answer) = try #require(await slow.first) else {
                    throw Unanswered(outcome: "slow")
                }
                #expect(answer.status == 200)
            }
            #expect(ContinuousClock.now - started >= .milliseconds(400))
        }
    }

    @Test("a dropped request is recorded without an answer, and its outcome is unknown to the sender")
    func drops() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            try await client.setFaults(#"[{"provider":"fcm","match":"lost","drop":true,"count":1}]"#)
            let outcomes = await client.transport.send([client.request(message("lost-1"), bearer: bearer)])
            guard case .unknown = try #require(outcomes.first) else {
                throw Unanswered(outcome: "\(outcomes)")
            }
            let received = try #require(client.sandbox.received(.fcm).first)
            #expect(received.token == "lost-1")
            #expect(received.answer == nil)
            #expect(received.json["answer"] == .null)
            #expect(client.sandbox.summary.providers[.fcm]?.dropped == 1)
            #expect(try await client.send(message("lost-1"), bearer: bearer).status == 200)
            #expect(client.sandbox.count(.fcm, by: .token).counts == ["lost-1": 2])
        }
    }
}
