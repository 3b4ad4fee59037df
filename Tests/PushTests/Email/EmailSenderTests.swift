import BellhopRules
import HTTPTransfer
import ServiceRuntime
import Synchronization
import Testing

@testable import Push

/// A mail server that is a closure.
private final class ScriptedMail: MailTransport {
    private let answerer: @Sendable (OutgoingMail) -> MailOutcome
    private let kept = Mutex<[OutgoingMail]>([])

    init(_ answerer: @escaping @Sendable (OutgoingMail) -> MailOutcome) {
        self.answerer = answerer
    }

    var mails: [OutgoingMail] { kept.withLock { $0 } }

    func send(_ mails: [OutgoingMail]) async -> [MailOutcome] {
        kept.withLock { $0 += mails }
        return mails.map(answerer)
    }

    func close() async {}
}

@Suite("The sender of mails")
struct EmailSenderTests {
    private static func answer(_ mail: OutgoingMail) -> MailOutcome {
        switch mail.recipient.prefix(while: { $0 != "@" }) {
        case "gone": .refused(SMTPReply(code: 550, status: EnhancedStatus(5, 1, 1)), at: .rcpt)
        case "spam": .refused(SMTPReply(code: 554, status: EnhancedStatus(5, 7, 1)), at: .endOfData)
        case "lost": .unknown(TransferError(.connectionLost, "x"))
        default: .accepted(SMTPReply(code: 250))
        }
    }

    private func send(_ names: [String], registry: MetricsRegistry? = nil) async throws -> ([Verdict], [OutgoingMail]) {
        let transport = ScriptedMail(Self.answer)
        let app = try #require(AppID(validating: "drop"))
        let sender = EmailSender(
            letterhead: try Mails.letterhead(),
            transport: transport,
            metrics: registry.map { PushMetrics($0).forEmail(app: app) }
        )
        let batch = try names.enumerated().map { index, name in
            try Mails.message(to: name.contains("@") ? name : "\(name)@example.com", notification: UInt64(index))
        }
        return (await sender.send(batch), transport.mails)
    }

    @Test("verdicts are in the order of the batch, and a mail that cannot be sent is not passed to the transport")
    func order() async throws {
        let (verdicts, mails) = try await send(["a", "kåre", "gone", "lost", "b", "c"])
        #expect(
            verdicts == [
                .delivered(providerMessageID: "<noti_0000000000000000@drop.example>"),
                .payloadError(.addressUnsupported),
                .payloadError(.mailboxUnknown), .unknown(.connectionLost, notBefore: .seconds(60)),
                .delivered(providerMessageID: "<noti_0000000000000004@drop.example>"),
                .delivered(providerMessageID: "<noti_0000000000000005@drop.example>"),
            ]
        )
        #expect(mails.map(\.recipient) == ["a", "gone", "lost", "b", "c"].map { "\($0)@example.com" })
        #expect(mails.allSatisfy { $0.sender == "no-reply@drop.example" })
    }

    @Test("each rejected mail has its own verdict, however many are rejected")
    func refusals() async throws {
        let (verdicts, _) = try await send(["gone", "spam", "gone", "gone", "gone", "a"])
        let unknown = Verdict.payloadError(.mailboxUnknown)
        #expect(verdicts.prefix(5) == [unknown, .payloadError(.refusedByPolicy), unknown, unknown, unknown])
        #expect(verdicts[5].kind == .delivered)
    }

    @Test("an empty batch sends no request")
    func empty() async throws {
        let (verdicts, mails) = try await send([])
        #expect(verdicts.isEmpty && mails.isEmpty)
    }

    @Test("verdicts are counted under the provider email")
    func metrics() async throws {
        let registry = MetricsRegistry()
        _ = try await send(["a", "b", "gone"], registry: registry)
        let text = registry.text()
        #expect(text.contains(#"bellhop_push_total{provider="email",app="drop",verdict="delivered"} 2"#))
        #expect(text.contains(#"bellhop_push_total{provider="email",app="drop",verdict="payload-error"} 1"#))
        #expect(text.contains(#"bellhop_push_seconds_count{provider="email",app="drop"} 1"#))
    }
}
