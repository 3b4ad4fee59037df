import BellhopRules
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

@Suite("Expo end to end, over TLS and HTTP/2", .limitedConcurrency, .timeLimit(.ofTest))
struct ExpoSandboxTests {
    /// Runs `body` with a separate sandbox, and drop's sender to it as a providers' file describes it.
    private static func run(
        accessToken: String? = nil,
        _ body: (ProviderSandbox, any PushSender, any ReceiptSource) async throws -> Void
    ) async throws {
        var options = SandboxOptions()
        options.expoAccessToken = "right"
        let sandbox = try await ProviderSandbox.start(options)
        do {
            let folder = try TemporaryFolder()
            _ = try folder.write("token", Array((accessToken ?? "right").utf8))
            let settings =
                #"accessTokenFile: "token", endpoint: "\#(sandbox.expoEndpoint)", caFile: "\#(sandbox.caFile)""#
            let file = try folder.write("providers.json5", Array("{ drop: { expo: { \(settings) } } }".utf8))
            let senders = try PushSenders(
                ProviderConfiguration.read(file: file),
                context: .init(logger: Logger(label: "push", sink: CapturedLog()))
            )
            let drop = try #require(AppID(validating: "drop"))
            let sender = try #require(senders.senders[drop]?[.expo])
            let receipts = try #require(senders.receipts[drop])
            do { try await body(sandbox, sender, receipts) } catch {
                await senders.close()
                throw error
            }
            await senders.close()
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private static func tickets(_ verdicts: [Verdict]) -> [String] {
        verdicts.compactMap { verdict in
            guard case .accepted(let ticket) = verdict else { return nil }
            return ticket
        }
    }

    @Test("a batch of 350 arrives completely in four requests, and tickets and receipts have each device's outcome")
    func fullBatch() async throws {
        try await Self.run { sandbox, sender, receipts in
            #expect(sender.window == 600)
            let names = (0..<350).map { index in
                switch index % 50 {
                case 7: "dead-\(index)"
                case 13: "gone-\(index)"
                case 21: "silent-\(index)"
                default: "phone-\(index)"
                }
            }
            let verdicts = await sender.send(try Expo.batch(names))
            for (name, verdict) in zip(names, verdicts) {
                let isDead = name.hasPrefix("dead-")
                #expect(isDead ? verdict == .deviceGone(.deviceNotRegistered, at: nil) : verdict.kind == .accepted)
            }
            let received = sandbox.received(.expo)
            #expect(received.map(\.token) == names.map(Expo.token))
            #expect(received.allSatisfy { $0.refused == nil })
            let living = names.filter { !$0.hasPrefix("dead-") }
            let tickets = Self.tickets(verdicts)
            #expect(Set(tickets).count == 343)
            let answers = await receipts.ask(tickets)
            for (name, answer) in zip(living, answers) {
                switch name.prefix(while: { $0 != "-" }) {
                case "gone": #expect(answer == .known(.deviceGone(.deviceNotRegistered, at: nil)))
                case "silent": #expect(answer == .missing)
                default: #expect(answer == .known(.delivered(providerMessageID: nil)))
                }
            }
        }
    }

    @Test("Expo accepts every message that can be built")
    func randomMessages() async throws {
        var generator = SeededChance.announced("Expo messages end to end")
        var messages: [PushMessage] = []
        for index in 0..<SeededChance.rounds(300) {
            let message = try Expo.addressed(RandomMessage.make(using: &generator), to: "phone-\(index)")
            messages.append(message)
            var update = message
            update.purpose = .badgeUpdate
            messages.append(update)
        }
        try await Self.run { sandbox, sender, _ in
            let verdicts = await sender.send(messages)
            for (message, verdict) in zip(messages, verdicts) where message.device.platform != .web {
                #expect(verdict.kind == .accepted || verdict == .payloadError(.payloadTooLarge))
            }
            #expect(verdicts.contains { $0.kind == .accepted })
            #expect(sandbox.received(.expo).allSatisfy { $0.refused == nil })
        }
    }

    @Test("receipts of a thousand messages are read, although their size is many times that of a usual answer")
    func longAnswer() async throws {
        try await Self.run { _, sender, receipts in
            var chance = SeededChance(7)
            let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
            let names = (0..<1_000).map { index in
                "gone-\(index)-" + String((0..<150).map { _ in letters[Int.random(in: 0..<36, using: &chance)] })
            }
            let tickets = Self.tickets(await sender.send(try Expo.batch(names)))
            #expect(tickets.count == 1_000)
            let answers = await receipts.ask(tickets)
            #expect(answers == Array(repeating: .known(.deviceGone(.deviceNotRegistered, at: nil)), count: 1_000))
        }
    }

    @Test("devices of two projects are all reached, each project in separate requests")
    func projects() async throws {
        try await Self.run { sandbox, sender, _ in
            let names = (0..<40).map { $0 % 4 == 0 ? "other:\($0)" : "\($0)" }
            let verdicts = await sender.send(try Expo.batch(names))
            #expect(verdicts.allSatisfy { $0.kind == .accepted })
            let taken = sandbox.received(.expo).filter { $0.refused == nil }.compactMap(\.token)
            #expect(Set(taken) == Set(names.map(Expo.token)) && taken.count == 40)
        }
    }

    @Test("an access token that Expo rejects is a config error, for messages and for receipts")
    func unauthorized() async throws {
        try await Self.run(accessToken: "wrong") { _, sender, receipts in
            let verdicts = await sender.send(try Expo.batch(["a", "b"]))
            #expect(verdicts == Array(repeating: .configError(.notAuthorized, scope: .provider), count: 2))
            let answers = await receipts.ask(["t"])
            #expect(answers == [.unanswered(.notAuthorized, notBefore: .seconds(60))])
        }
    }

    @Test("a lost connection leaves every message of its request unknown")
    func dropped() async throws {
        try await Self.run { sandbox, sender, _ in
            sandbox.setFaults([SandboxFault(.expo, .drop, match: "push/send")])
            let verdicts = await sender.send(try Expo.batch(["a", "b", "c"]))
            #expect(verdicts == Array(repeating: .unknown(.connectionLost, notBefore: .seconds(5)), count: 3))
        }
    }

    @Test(
        "a scripted error is read like Expo's own",
        arguments: [(429, VerdictReason.requestRate), (503, .unavailable), (502, .unavailable), (400, .invalidMessage)]
    )
    func faults(_ status: Int, _ reason: VerdictReason) async throws {
        let verdict: Verdict =
            switch status {
            case 400: .payloadError(reason)
            case 429: .retry(reason, notBefore: .seconds(30), scope: .provider)
            default: .retry(reason, notBefore: .seconds(5), scope: .message)
            }
        try await Self.run { sandbox, sender, _ in
            sandbox.setFaults([SandboxFault(.expo, .answer(.init(status: status)), match: "push/send")])
            let verdicts = await sender.send(try Expo.batch(["a", "b"]))
            #expect(verdicts == [verdict, verdict])
        }
    }
}
