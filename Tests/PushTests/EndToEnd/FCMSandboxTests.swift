import BellhopRules
import Push
import Sandbox
import TestSupport
import Testing

@Suite("FCM end to end, over TLS and HTTP/2", .limitedConcurrency, .timeLimit(.ofTest))
struct FCMSandboxTests {
    private func batch(_ tokens: some Sequence<String>) throws -> [PushMessage] {
        try tokens.enumerated().map { try SamplePushes.plain(token: $1, notification: UInt64($0)) }
    }

    @Test("a batch of 500 arrives completely, with few connections and one access token, and gone devices are reported")
    func fullBatch() async throws {
        try await FCMPeer.run { peer in
            let tokens = (0..<500).map { index in
                switch index % 50 {
                case 7: "dead-\(index)"
                case 13: "invalid-\(index)"
                case 21: "mismatch-\(index)"
                default: "device-\(index)"
                }
            }
            let verdicts = await peer.fcm.send(try batch(tokens))
            #expect(verdicts.count == 500)
            for (token, verdict) in zip(tokens, verdicts) {
                switch token.prefix(while: { $0 != "-" }) {
                case "dead": #expect(verdict == .deviceGone(.unregistered, at: nil))
                case "invalid": #expect(verdict == .deviceGone(.invalidToken, at: nil))
                case "mismatch": #expect(verdict == .deviceGone(.senderIDMismatch, at: nil))
                default: #expect(verdict.kind == .delivered)
                }
            }
            let names = verdicts.compactMap { verdict -> String? in
                guard case .delivered(let name) = verdict else { return nil }
                return name
            }
            #expect(Set(names).count == 470)
            #expect(names.allSatisfy { $0.hasPrefix("projects/bellhop-sandbox/messages/") })
            #expect(
                peer.sandbox.count(.fcm, by: .token).counts
                    == Dictionary(uniqueKeysWithValues: tokens.map { ($0, 1) })
            )
            #expect(peer.received(.oauth) == 1)
            #expect(Set(peer.sandbox.received(.fcm).map(\.connection)).count <= 2)
        }
    }

    @Test("FCM accepts every message that can be built")
    func randomMessages() async throws {
        var generator = SeededChance.announced("FCM messages end to end")
        var messages: [PushMessage] = []
        for index in 0..<SeededChance.rounds(300) {
            var message = try RandomMessage.make(using: &generator)
            message.device.token = try #require(DeviceToken(validating: "device-\(index)"))
            messages.append(message)
        }
        try await FCMPeer.run { peer in
            let verdicts = await peer.fcm.send(messages)
            #expect(verdicts.allSatisfy { $0.kind == .delivered || $0 == .payloadError(.payloadTooLarge) })
            #expect(verdicts.contains { $0.kind == .delivered })
            #expect(peer.sandbox.received(.fcm).compactMap(\.refused) == [])
        }
    }

    @Test("the waits that a busy FCM requests are in the verdicts")
    func busy() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([
                SandboxFault(.fcm, .answer(.init(status: 503, retryAfter: "45")), match: "busy"),
                SandboxFault(.fcm, .answer(.init(status: 429, retryAfter: "90")), match: "quota"),
                SandboxFault(.fcm, .answer(.init(status: 429)), match: "flood"),
                SandboxFault(.fcm, .answer(.init(status: 502)), match: "gateway"),
                SandboxFault(.fcm, .answer(.init(status: 500)), match: "broken"),
            ])
            let tokens = ["busy", "quota", "flood", "gateway", "broken", "fine"]
            let verdicts = await peer.fcm.send(try batch(tokens))
            #expect(
                verdicts.dropLast() == [
                    .retry(.unavailable, notBefore: .seconds(45), scope: .message),
                    .retry(.quotaExceeded, notBefore: .seconds(90), scope: .provider),
                    .retry(.quotaExceeded, notBefore: .seconds(60), scope: .provider),
                    .retry(.unavailable, notBefore: .seconds(10), scope: .message),
                    .retry(.internalError, notBefore: .seconds(10), scope: .message),
                ]
            )
            #expect(verdicts.last?.kind == .delivered)
        }
    }

    @Test("a connection that is lost during a batch leaves unknown outcomes, and a repeat carries the same tags")
    func dropped() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.fcm, .drop, match: "device-20").limited(count: 1)])
            let batch = try batch((0..<40).map { "device-\($0)" })
            let verdicts = await peer.fcm.send(batch)
            #expect(verdicts[20].kind == .unknown)
            // Messages on the same connection may be lost with it, and messages that were not sent may be retried.
            #expect(verdicts.allSatisfy { [.delivered, .unknown, .retry].contains($0.kind) })
            let lost = zip(batch, verdicts).filter { $1.kind != .delivered }.map(\.0)
            let repeated = await peer.fcm.send(lost)
            #expect(repeated.allSatisfy { $0.kind == .delivered })
            let tags = peer.sandbox.count(.fcm, by: .tag)
            #expect(tags.without == 0)
            #expect(Set(tags.counts.keys) == Set(batch.map(\.notification.text)))
            #expect(tags.counts[batch[20].notification.text] == 2)
        }
    }

    @Test("an access token that FCM no longer accepts is replaced once, and all pushes are delivered")
    func staleToken() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([
                SandboxFault(.fcm, .answer(.init(status: 401)), match: "device-").limited(count: 5)
            ])
            let verdicts = await peer.fcm.send(try batch((0..<20).map { "device-\($0)" }))
            #expect(verdicts.allSatisfy { $0.kind == .delivered })
            #expect(peer.received(.oauth) == 2)
            #expect(peer.received(.fcm) == 25)
        }
    }

    @Test("no push is sent or lost while the token endpoint is unavailable")
    func tokensDown() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([
                SandboxFault(.oauth, .answer(.init(status: 503, retryAfter: "30"))).limited(count: 1)
            ])
            let batch = try batch(["a", "b"])
            let expected = Verdict.retry(.tokenUnavailable, notBefore: .seconds(30), scope: .provider)
            let started = ContinuousClock.now
            let verdicts = await peer.fcm.send(batch)
            let left = .seconds(30) - started.duration(to: .now)
            for verdict in verdicts {
                guard case .retry(.tokenUnavailable, let wait, .provider) = verdict else {
                    Issue.record("\(verdict) is not \(expected)")
                    continue
                }
                #expect(wait >= left && wait <= .seconds(30))
            }
            #expect(peer.received(.fcm) == 0)
        }
    }

    @Test("an account that Google rejects is a config error")
    func refused() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.oauth, .answer(.init(status: 400)))])
            let verdicts = await peer.fcm.send(try batch(["a"]))
            #expect(verdicts == [.configError(.tokenRefused, scope: .provider)])
        }
    }

    @Test("an untrusted authority is a config error, and no secret is sent")
    func untrusted() async throws {
        try await FCMPeer.run(trusting: false) { peer in
            let verdicts = await peer.fcm.send(try batch(["a"]))
            #expect(verdicts == [.configError(.tokenRefused, scope: .provider)])
            #expect(peer.sandbox.summary.total == 0)
        }
    }

    @Test("a cancelled batch ends immediately: sends in flight are unknown, and the others may be retried")
    func cancelled() async throws {
        try await FCMPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.fcm, .delay, delay: .seconds(600))])
            let batch = try batch((0..<900).map { "device-\($0)" })
            let sending = Task { await peer.fcm.send(batch) }
            try await eventually("a request arrives") { peer.received(.fcm) > 0 }
            sending.cancel()
            let verdicts = await sending.value
            #expect(verdicts[0] == .unknown(.cancelled, notBefore: .seconds(10)))
            // More than the window of 500, so that some were never sent.
            #expect(verdicts[899] == .retry(.cancelled, notBefore: .zero, scope: .message))
            #expect(verdicts.allSatisfy { $0.reason == .cancelled })
        }
    }
}
