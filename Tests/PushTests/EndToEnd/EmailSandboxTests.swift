import BellhopRules
import Push
import Sandbox
import TestSupport
import Testing

@Suite("E-mail end to end, over TLS and SMTP", .limitedConcurrency, .timeLimit(.ofTest))
struct EmailSandboxTests {
    private static let minute = Duration.seconds(60)

    @Test(
        "a mail arrives unchanged, with TLS from the start and with STARTTLS",
        arguments: MailPeer.Way.allCases
    )
    func arrives(_ way: MailPeer.Way) async throws {
        var settings = MailPeer.Settings()
        settings.way = way
        try await MailPeer.run(settings) { peer in
            let verdicts = await peer.email.send([try Mails.message()])
            #expect(verdicts == [.delivered(providerMessageID: "<noti_00000000000000ab@drop.example>")])
            let received = try #require(peer.taken.first)
            #expect(peer.sandbox.received(.email).count == 1)
            #expect(received.token == "kari@example.com")
            #expect(received.tag == "<noti_00000000000000ab@drop.example>")
            #expect(received.body["from"] == "no-reply@drop.example")
            #expect(received.body["to"] == ["kari@example.com"])
            #expect(received.body["subject"] == "Ny innlogging på kontoen din")
            let text = try #require(received.body["text"]?.string)
            #expect(text.contains("Var det ikke deg? Bytt passord.\n"))
            #expect(text.contains("https://drop.example/security?id=7\n"))
            let html = try #require(received.body["html"]?.string)
            #expect(html.contains(">Åpne</a>"))
            let headers = received.body["headers"]
            #expect(headers?["auto-submitted"] == "auto-generated")
            let link = try #require(headers?["list-unsubscribe"]?.string)
            let token = link.dropFirst("<https://drop.example/u/".count).dropLast()
            let links = try Mails.link()
            #expect(links.check(String(token))?.user.text == "u1")
        }
    }

    @Test("a batch shares few connections, and each message has its own verdict")
    func batch() async throws {
        try await MailPeer.run { peer in
            let names = (0..<40).map { index in
                switch index {
                case 7: "unknown-7"
                case 13: "full-13"
                case 21: "grey-21"
                case 30: "spam-30"
                default: "user-\(index)"
                }
            }
            let messages = try names.enumerated().map { index, name in
                try Mails.message(to: "\(name)@example.com", notification: UInt64(index))
            }
            let verdicts = await peer.email.send(messages)
            #expect(verdicts[7] == .payloadError(.mailboxUnknown))
            #expect(verdicts[13] == .retry(.mailboxFull, notBefore: .seconds(3600), scope: .message))
            #expect(verdicts[21] == .retry(.temporarilyRefused, notBefore: .seconds(300), scope: .message))
            #expect(verdicts[30] == .payloadError(.refusedByPolicy))
            #expect(verdicts.count { $0.kind == .delivered } == 36)
            #expect(peer.sandbox.received(.email).compactMap(\.refused) == [])
            #expect(Set(peer.taken.compactMap(\.token)).count == 36)
            // Two, and another one after each rejection, because libcurl closes the connection then.
            #expect(Set(peer.sandbox.received(.email).map(\.connection)).count <= 6)
        }
    }

    @Test("a strict server accepts every message that can be built")
    func randomMessages() async throws {
        var generator = SeededChance.announced("mails end to end")
        let messages = try (0..<SeededChance.rounds(60)).map { index in
            try RandomMail.message(notification: UInt64(index), using: &generator)
        }
        try await MailPeer.run { peer in
            let verdicts = await peer.email.send(messages)
            #expect(verdicts.allSatisfy { $0.kind == .delivered })
            #expect(peer.sandbox.received(.email).compactMap(\.refused) == [])
        }
    }

    @Test("a repeat carries the same Message-ID")
    func repeats() async throws {
        try await MailPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.email, .drop).limited(count: 1)])
            let message = try Mails.message()
            #expect(await peer.email.send([message]) == [.unknown(.connectionLost, notBefore: Self.minute)])
            #expect(await peer.email.send([message]).first?.kind == .delivered)
            #expect(peer.sandbox.count(.email, by: .tag).counts == ["<noti_00000000000000ab@drop.example>": 2])
        }
    }

    @Test(
        "the server's reply at each step determines the verdict",
        arguments: [
            (
                DialoguePhase.connect, 421, "4.3.2 Busy",
                Verdict.retry(.serverClosing, notBefore: minute, scope: .provider)
            ),
            (.connect, 554, "5.7.1 Go away", .configError(.serviceRefused, scope: .provider)),
            (.starttls, 454, "4.7.0 No TLS now", .retry(.temporarilyRefused, notBefore: minute, scope: .provider)),
            (.auth, 454, "4.7.0 Later", .retry(.temporarilyRefused, notBefore: minute, scope: .provider)),
            (.auth, 535, "5.7.8 No", .configError(.authenticationRefused, scope: .provider)),
            (.mail, 451, "4.3.0 Later", .retry(.temporarilyRefused, notBefore: .seconds(300), scope: .message)),
            (.mail, 553, "5.1.8 Not you", .configError(.senderRefused, scope: .provider)),
            (.rcpt, 550, "5.1.1 Nobody", .payloadError(.mailboxUnknown)),
            (.data, 452, "4.3.1 No space", .retry(.temporarilyRefused, notBefore: minute, scope: .message)),
            (.endOfData, 552, "5.3.4 Too big", .payloadError(.payloadTooLarge)),
            (.endOfData, 550, "5.7.26 DMARC", .configError(.refusedByPolicy, scope: .provider)),
        ]
    )
    func refusals(_ phase: DialoguePhase, _ status: Int, _ words: String, _ verdict: Verdict) async throws {
        try await MailPeer.run { peer in
            let message = try Mails.message()
            let fault = SandboxFault(.email, .answer(.init(status: status, reason: words))).inDialogue(at: phase)
            peer.sandbox.setFaults([fault])
            #expect(await peer.email.send([message]) == [verdict])
            #expect(peer.taken.isEmpty)
            peer.sandbox.setFaults([])
            #expect(await peer.email.send([message]).first?.kind == .delivered)
        }
    }

    @Test(
        "a connection lost before the end of the content leads to a retry, and one lost after it to an unknown outcome",
        arguments: DialoguePhase.allCases
    )
    func drops(_ phase: DialoguePhase) async throws {
        try await MailPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.email, .drop).inDialogue(at: phase)])
            let verdict = try #require(await peer.email.send([try Mails.message()]).first)
            #expect(verdict.kind == (phase == .endOfData ? .unknown : .retry), "\(verdict)")
            #expect(peer.taken.isEmpty)
        }
    }

    @Test("a slow server that accepts the mail in the end has it")
    func drips() async throws {
        try await MailPeer.run { peer in
            let message = try Mails.message()
            let faults = DialoguePhase.allCases.map { phase in
                SandboxFault(.email, .drip(every: .milliseconds(1)), delay: .milliseconds(20)).inDialogue(at: phase)
            }
            peer.sandbox.setFaults(faults)
            #expect(await peer.email.send([message]).first?.kind == .delivered)
        }
    }

    @Test("an untrusted authority is a config error, and no password is sent")
    func untrusted() async throws {
        var settings = MailPeer.Settings()
        settings.isTrusting = false
        try await MailPeer.run(settings) { peer in
            let verdicts = await peer.email.send([try Mails.message()])
            #expect(verdicts == [.configError(.certificate, scope: .provider)])
            #expect(peer.sandbox.received(.email).isEmpty)
        }
    }

    @Test("a wrong or missing password is a config error", arguments: ["wrong", nil])
    func wrongPassword(_ password: String?) async throws {
        var settings = MailPeer.Settings()
        settings.password = password
        try await MailPeer.run(settings) { peer in
            let verdicts = await peer.email.send([try Mails.message()])
            #expect(verdicts == [.configError(.authenticationRefused, scope: .provider)])
            #expect(peer.taken.isEmpty)
        }
    }

    @Test("a cancelled batch ends immediately: sends in flight are unknown, and the others may be retried")
    func cancelled() async throws {
        try await MailPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.email, .delay, delay: .seconds(600))])
            let batch = try (0..<10).map { try Mails.message(notification: $0) }
            let sending = Task { await peer.email.send(batch) }
            try await eventually("a mail arrives") { !peer.sandbox.received(.email).isEmpty }
            sending.cancel()
            let verdicts = await sending.value
            #expect(verdicts[0] == .unknown(.cancelled, notBefore: Self.minute))
            #expect(verdicts[9] == .retry(.cancelled, notBefore: .zero, scope: .message))
            #expect(verdicts.allSatisfy { $0.reason == .cancelled })
        }
    }
}
