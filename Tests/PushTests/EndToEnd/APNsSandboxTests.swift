import BellhopRules
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

@Suite("APNs end to end, over TLS and HTTP/2", .limitedConcurrency, .timeLimit(.ofTest))
struct APNsSandboxTests {
    /// Returns a token: the prefix and the number in eight hexadecimal digits.
    private func token(_ number: Int, prefix: String = "") -> String {
        let digits = String(number, radix: 16)
        return prefix + String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func batch(_ tokens: some Sequence<String>) throws -> [PushMessage] {
        try tokens.enumerated().map { index, token in
            let environment: PushEnvironment = token.hasPrefix("cafe") ? .sandbox : .production
            return try SamplePushes.apple(token: token, environment: environment, notification: UInt64(index))
        }
    }

    /// Sends to these tokens; a batch that cannot be made fails the test and has no verdicts.
    private func send(_ tokens: [String], through sender: any PushSender) async -> [Verdict] {
        do {
            return await sender.send(try batch(tokens))
        } catch {
            Issue.record(error)
            return []
        }
    }

    @Test("a batch of 500 to both environments arrives completely, and gone devices get their verdicts")
    func fullBatch() async throws {
        try await ApplePeer.run { peer in
            let tokens = (0..<500).map { index in
                let environment = index % 4 == 0 ? "cafe" : ""
                let fate = [7: "dead", 13: "0ff0", 21: "bad0", 34: "f0f0"][index % 50] ?? ""
                return token(index, prefix: environment + fate)
            }
            let verdicts = await peer.apns.send(try batch(tokens))
            let now = Timestamp(clamping: peer.time.now().microseconds / 1_000 * 1_000)
            for (index, verdict) in verdicts.enumerated() {
                switch index % 50 {
                case 7: #expect(verdict == .deviceGone(.unregistered, at: now))
                case 13: #expect(verdict == .deviceGone(.expiredToken, at: now))
                case 21: #expect(verdict == .deviceGone(.badDeviceToken, at: nil))
                case 34: #expect(verdict == .deviceGone(.deviceTokenNotForTopic, at: nil))
                default: #expect(verdict.kind == .delivered)
                }
            }
            let ids = verdicts.compactMap { verdict -> String? in
                guard case .delivered(let id) = verdict else { return nil }
                return id
            }
            #expect(Set(ids).count == 460)
            let received = peer.received
            #expect(received.compactMap(\.refused) == [])
            #expect(Set(received.compactMap(\.token)) == Set(tokens))
            #expect(received.count == 500)
        }
    }

    @Test("APNs accepts every message that can be built")
    func randomMessages() async throws {
        var generator = SeededChance.announced("APNs messages end to end")
        var messages: [PushMessage] = []
        for index in 0..<SeededChance.rounds(300) {
            var message = try RandomMessage.make(using: &generator)
            message.device.provider = .apns
            message.device.token = try #require(DeviceToken(validating: token(index)))
            if index % 5 == 0 {
                message.purpose = .badgeUpdate
                message.badge = Int.random(in: .min ... .max, using: &generator)
            }
            messages.append(message)
        }
        try await ApplePeer.run { peer in
            let verdicts = await peer.apns.send(messages)
            #expect(verdicts.allSatisfy { $0.kind == .delivered || $0 == .payloadError(.payloadTooLarge) })
            #expect(verdicts.contains { $0.kind == .delivered })
            #expect(peer.received.compactMap(\.refused) == [])
        }
    }

    @Test("apps with the same team and key share connections and a token, each with its own topic")
    func sharing() async throws {
        try await ApplePeer.run(settings: "connections: 1") { peer in
            let safe = try peer.sender(of: "safe")
            for number in 0..<3 {
                let batch = try batch([token(number)])
                #expect(await peer.apns.send(batch).first?.kind == .delivered)
                #expect(await safe.send(batch).first?.kind == .delivered)
            }
            // A second token within 20 minutes, or a second connection, would be visible here.
            #expect(peer.received.map(\.connection) == Array(repeating: 1, count: 6))
            let topics = peer.received.compactMap { request in
                request.headers.first { $0.name == "apns-topic" }?.value
            }
            #expect(Set(topics) == ["com.example.drop", "com.example.safe"])
        }
    }

    @Test("tokens are renewed in time over hours, without any failed push")
    func renewal() async throws {
        try await ApplePeer.run(settings: "connections: 1") { peer in
            for number in 0..<24 {
                #expect(await send([token(number)], through: peer.apns).first?.kind == .delivered)
                peer.time.advance(by: .seconds(600))
            }
            #expect(peer.received.allSatisfy { $0.answer?.status == 200 })
        }
    }

    @Test("a token that APNs reports as expired is replaced once if it is old, and is a config error if it is young")
    func expired() async throws {
        try await ApplePeer.run(settings: "connections: 1") { peer in
            let expired = SandboxFault(.apns, .answer(.init(status: 403, reason: "ExpiredProviderToken")))
            #expect(await send([token(0)], through: peer.apns).first?.kind == .delivered)
            peer.sandbox.setFaults([expired.limited(count: 1)])
            let young = await peer.apns.send(try batch([token(1)]))
            #expect(young == [.configError(.expiredProviderToken, scope: .provider)])
            peer.time.advance(by: .seconds(1_260))
            peer.sandbox.setFaults([expired.limited(count: 1)])
            let old = await peer.apns.send(try batch([token(2), token(3)]))
            #expect(old.map(\.kind) == [.delivered, .delivered])
        }
    }

    @Test("a token update that comes too soon pauses the key, and the token stays")
    func tooManyUpdates() async throws {
        try await ApplePeer.run { peer in
            let many = SandboxFault.Answer(status: 429, reason: "TooManyProviderTokenUpdates")
            peer.sandbox.setFaults([SandboxFault(.apns, .answer(many)).limited(count: 1)])
            let resting = Verdict.configError(.tooManyProviderTokenUpdates, scope: .provider)
            #expect(await send([token(0)], through: peer.apns) == [resting])
            let safe = try peer.sender(of: "safe")
            #expect(await send([token(1), token(1, prefix: "cafe")], through: safe) == [resting, resting])
            #expect(peer.received.count == 1)
            peer.time.advance(by: .seconds(1_200))
            #expect(await send([token(1)], through: safe).first?.kind == .delivered)
        }
    }

    @Test("an answer of APNs about the connection leads to a new one")
    func newConnections() async throws {
        try await ApplePeer.run(settings: "connections: 1") { peer in
            let reasons = [(403, "UnrelatedKeyIdInToken", Verdict.Kind.delivered), (503, "Shutdown", .retry)]
            for (index, (status, reason, kind)) in reasons.enumerated() {
                let fault = SandboxFault(.apns, .answer(.init(status: status, reason: reason)))
                peer.sandbox.setFaults([fault.limited(count: 1)])
                #expect(await send([token(index)], through: peer.apns).first?.kind == kind)
            }
            peer.sandbox.setFaults([])
            #expect(await send([token(9)], through: peer.apns).first?.kind == .delivered)
            // The repeat after the unrelated key, and the request after the shutdown, each used a new connection.
            #expect(peer.received.map(\.connection) == [1, 2, 2, 3])
        }
    }

    @Test("a GOAWAY in the middle of a batch loses no push and repeats no accepted one")
    func goAway() async throws {
        try await ApplePeer.run(settings: "connections: 1") { peer in
            let unlucky = token(50)
            peer.sandbox.setFaults([SandboxFault(.apns, .goAway, match: unlucky).limited(count: 1)])
            let tokens = (0..<200).map { token($0) }
            let verdicts = await peer.apns.send(try batch(tokens))
            #expect(verdicts.allSatisfy { $0.kind == .delivered })
            let taken = peer.received.filter { $0.answer?.status == 200 }
            #expect(Set(taken.compactMap(\.token)) == Set(tokens))
            #expect(Set(peer.received.map(\.connection)) == [1, 2])
        }
    }

    @Test(
        "a connection that is lost during a batch leaves unknown outcomes, and a repeat carries the same collapse ids",
        arguments: [SandboxFault.Effect.drop, .partial, .reset]
    )
    func lost(_ effect: SandboxFault.Effect) async throws {
        try await ApplePeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.apns, effect, match: token(20)).limited(count: 1)])
            let batch = try batch((0..<40).map { token($0) })
            let verdicts = await peer.apns.send(batch)
            #expect(verdicts[20] == .unknown(.connectionLost, notBefore: .seconds(10)))
            #expect(verdicts.allSatisfy { [.delivered, .unknown, .retry].contains($0.kind) })
            let lost = zip(batch, verdicts).filter { $1.kind != .delivered }.map(\.0)
            #expect(await peer.apns.send(lost).allSatisfy { $0.kind == .delivered })
            let tags = peer.sandbox.count(.apns, by: .tag).counts
            #expect(Set(tags.keys) == Set(batch.map(\.notification.text)))
            #expect(tags[batch[20].notification.text] == 2)
        }
    }

    @Test("a slow answer delays no other push")
    func drip() async throws {
        try await ApplePeer.run { peer in
            peer.sandbox.setFaults([
                SandboxFault(.apns, .drip(every: .milliseconds(5)), match: token(5, prefix: "dead"))
            ])
            let verdicts = await peer.apns.send(try batch([token(1), token(5, prefix: "dead"), token(2)]))
            #expect(verdicts.map(\.kind) == [.delivered, .deviceGone, .delivered])
        }
    }

    @Test("a token of the other environment is rejected as a gone device")
    func wrongEnvironment() async throws {
        try await ApplePeer.run { peer in
            var messages = try batch((0..<10).map { token($0, prefix: "cafe") })
            for index in messages.indices { messages[index].device.environment = .production }
            let expected = Verdict.deviceGone(.badDeviceToken, at: nil)
            #expect(await peer.apns.send(messages) == Array(repeating: expected, count: 10))
        }
    }

    @Test("a topic of another team is a config error")
    func wrongTopic() async throws {
        try await ApplePeer.run {
            $0.apnsTopics = ["com.example.other"]
        } _: { peer in
            let verdicts = await peer.apns.send(try batch([token(0)]))
            #expect(verdicts == [.configError(.topicDisallowed, scope: .provider)])
        }
    }

    @Test("an invalid certificate is a config error, and no secret is sent", arguments: [false, true])
    func untrusted(isExpired: Bool) async throws {
        try await ApplePeer.run(trusting: isExpired) {
            if isExpired { $0.certificateFault = .expired }
        } _: { peer in
            let verdicts = await peer.apns.send(try batch([token(0)]))
            #expect(verdicts == [.configError(.certificate, scope: .provider)])
            #expect(peer.sandbox.summary.total == 0)
        }
    }
}
