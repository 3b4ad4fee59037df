import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

/// Tests of the mail transport.
///
/// They are in this target since the sandbox has a mail server.
@Suite("The mail transport", .limitedConcurrency, .timeLimit(.ofTest))
struct MailTransportTests {
    private func withTransport(
        _ change: (inout SMTPTransportOptions) -> Void = { _ in },
        _ body: (ProviderSandbox, SMTPTransport) async throws -> Void
    ) async throws {
        try await withSandbox { client in
            var options = SMTPTransportOptions(
                name: "smtp-test",
                server: client.sandbox.smtpAddress,
                encryption: .startTLS,
                ownName: "drop.example"
            )
            options.login = .init(user: "bellhop", password: Secret("sandbox-password"))
            options.authoritiesFile = client.sandbox.caFile
            options.connections = 1
            options.closeGrace = .milliseconds(100)
            change(&options)
            let transport = try SMTPTransport(options)
            do {
                try await body(client.sandbox, transport)
                await transport.close()
            } catch {
                await transport.close()
                throw error
            }
        }
    }

    private func mail(_ recipient: String = "c@d.example", text: [String] = ["Hei"]) -> OutgoingMail {
        let lines =
            [
                "Date: Sun, 15 Feb 2026 13:45:00 +0000", "From: Drop <a@b.example>", "To: <c@d.example>", "Subject: x",
                "Message-ID: <\(recipient)>", "List-Unsubscribe: <https://b.example/u/1>",
                "List-Unsubscribe-Post: List-Unsubscribe=One-Click", "MIME-Version: 1.0",
                "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
            ] + text
        let content = lines.map { $0 + "\r\n" }.joined()
        return OutgoingMail(from: "a@b.example", to: recipient, content: Array(content.utf8))
    }

    private func isAccepted(_ outcome: MailOutcome?) -> Bool {
        if case .accepted(let reply) = outcome { reply.code == 250 } else { false }
    }

    @Test("lines that begin with dots arrive unchanged and do not end the mail")
    func dots() async throws {
        let text = [".", "..", ".a", "...b", "", ".", "c"]
        try await withTransport { sandbox, transport in
            let outcome = await transport.send([mail(text: text)]).first
            #expect(isAccepted(outcome))
            #expect(sandbox.received(.email).first?.body["text"]?.string == text.joined(separator: "\n"))
        }
    }

    @Test("a mail of half a megabyte arrives complete")
    func large() async throws {
        let line = String(repeating: "x", count: 76)
        try await withTransport { sandbox, transport in
            let outcome = await transport.send([mail(text: Array(repeating: line, count: 6_500))]).first
            #expect(isAccepted(outcome))
            #expect(sandbox.received(.email).first?.body["text"]?.string?.utf8.count == 6_500 * 77 - 1)
        }
    }

    @Test("mails in sequence share a connection, and a connection that the server has ended is replaced")
    func reuse() async throws {
        try await withTransport { sandbox, transport in
            for number in 0..<5 {
                let outcome = await transport.send([mail("m\(number)@d.example")]).first
                #expect(isAccepted(outcome))
            }
            #expect(Set(sandbox.received(.email).map(\.connection)).count == 1)
            let fault = SandboxFault(.email, .answer(.init(status: 421, reason: "4.4.2 Idle too long")))
            sandbox.setFaults([fault.inDialogue(at: .mail).limited(count: 1)])
            let outcome = await transport.send([mail()]).first
            #expect(isAccepted(outcome))
            #expect(Set(sandbox.received(.email).map(\.connection)).count == 2)
        }
    }

    @Test("a connection that closes while idle costs no mail")
    func deadAtRest() async throws {
        try await withTransport { sandbox, transport in
            let first = await transport.send([mail()]).first
            #expect(isAccepted(first))
            sandbox.setFaults([SandboxFault(.email, .drop).inDialogue(at: .mail).limited(count: 1)])
            let second = await transport.send([mail()]).first
            #expect(isAccepted(second))
        }
    }

    @Test("a batch uses all allowed connections at the same time, and no more")
    func connections() async throws {
        try await withTransport {
            $0.connections = 3
        } _: { sandbox, transport in
            sandbox.setFaults([SandboxFault(.email, .delay, delay: .milliseconds(50))])
            let outcomes = await transport.send((0..<12).map { mail("m\($0)@d.example") })
            #expect(outcomes.allSatisfy(isAccepted))
            #expect(Set(sandbox.received(.email).map(\.connection)).count == 3)
        }
    }

    @Test("a rejection keeps its code, its enhanced status and its step")
    func refusal() async throws {
        try await withTransport { _, transport in
            let outcome = try #require(await transport.send([mail("unknown-1@d.example")]).first)
            let reply = SMTPReply(code: 550, status: EnhancedStatus(5, 1, 1), words: "5.1.1 No such user here")
            #expect(outcome == .refused(reply, at: .rcpt))
        }
    }

    @Test("a server that rejects EHLO never gets a password")
    func noExtensions() async throws {
        try await withTransport { sandbox, transport in
            let fault = SandboxFault(.email, .answer(.init(status: 502, reason: "5.5.1 No EHLO")))
            sandbox.setFaults([fault.inDialogue(at: .ehlo)])
            let reply = SMTPReply(code: 502, status: EnhancedStatus(5, 5, 1), words: "5.5.1 No EHLO")
            let outcome = await transport.send([mail()]).first
            #expect(outcome == .refused(reply, at: .ehlo))
        }
    }

    @Test(
        "a mail that times out before its end was not sent, and after its end it is unknown",
        arguments: [
            (DialoguePhase.rcpt, false), (.endOfData, true),
        ]
    )
    func timeouts(_ phase: DialoguePhase, _ isUnknown: Bool) async throws {
        try await withTransport {
            $0.timeouts = TransferTimeouts(total: .seconds(10), connect: LongestWait.duration)
        } _: { sandbox, transport in
            sandbox.setFaults([SandboxFault(.email, .delay, delay: .seconds(600)).inDialogue(at: phase)])
            switch await transport.send([mail()]).first {
            case .unknown(let error): #expect(isUnknown && error.code == .timeout)
            case .notSent(let error): #expect(!isUnknown && error.code == .timeout)
            case let other: Issue.record("\(String(describing: other))")
            }
        }
    }

    @Test("closing gives up a mail in flight as unknown, and a waiting mail as not sent")
    func closing() async throws {
        try await withTransport { sandbox, transport in
            sandbox.setFaults([SandboxFault(.email, .delay, delay: .seconds(600))])
            let sending = Task { await transport.send([mail(), mail("e@f.example")]) }
            try await eventually { !sandbox.received(.email).isEmpty }
            await transport.close()
            let outcomes = await sending.value
            guard case .unknown(let first) = outcomes[0], case .notSent(let second) = outcomes[1] else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(first.code == .closed && second.code == .closed)
        }
    }

    @Test("a task that was cancelled before it sends sends nothing")
    func cancelledBefore() async throws {
        try await withTransport { sandbox, transport in
            let outcomes = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await transport.send([mail()])
            }.value
            guard case .notSent(let error) = outcomes[0] else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(error.code == .cancelled)
            #expect(sandbox.received(.email).isEmpty)
        }
    }
}
