import HTTPTransfer
import Push
import Testing

@Suite("Verdicts")
struct VerdictTests {
    private static let wait = Duration.seconds(10)

    private static let notSent: [(TransferError.Code, Verdict)] = [
        (.nameLookup, .retry(.nameLookup, notBefore: wait, scope: .provider)),
        (.connect, .retry(.connect, notBefore: wait, scope: .provider)),
        (.tls, .retry(.tls, notBefore: wait, scope: .provider)),
        (.timeout, .retry(.timeout, notBefore: wait, scope: .provider)),
        (.connectionLost, .retry(.connectionLost, notBefore: wait, scope: .message)),
        (.incompleteAnswer, .retry(.incompleteAnswer, notBefore: wait, scope: .message)),
        (.protocolViolation, .retry(.protocolViolation, notBefore: wait, scope: .message)),
        (.library, .retry(.library, notBefore: wait, scope: .message)),
        (.cancelled, .retry(.cancelled, notBefore: .zero, scope: .message)),
        (.closed, .retry(.closed, notBefore: .zero, scope: .message)),
        (.certificate, .configError(.certificate, scope: .provider)),
        (.addressRefused, .configError(.addressRefused, scope: .provider)),
        (.invalidRequest, .configError(.invalidRequest, scope: .provider)),
        (.invalidOptions, .configError(.invalidOptions, scope: .provider)),
    ]

    @Test("a request that was not sent may be retried, unless the settings are the cause", arguments: notSent)
    func unsent(_ code: TransferError.Code, _ verdict: Verdict) {
        #expect(FCMAnswer.read(.notSent(TransferError(code, "x"))) == .verdict(verdict))
    }

    @Test("a request without a known outcome is unknown, whatever the error", arguments: notSent)
    func unknown(_ code: TransferError.Code, _ verdict: Verdict) throws {
        let reason = try #require(verdict.reason)
        let expected = Verdict.unknown(reason, notBefore: Self.wait)
        #expect(FCMAnswer.read(.unknown(TransferError(code, "x"))) == .verdict(expected))
    }

    @Test("only an outcome that a repeat cannot change is final")
    func finality() {
        #expect(Verdict.delivered(providerMessageID: nil).isFinal)
        #expect(Verdict.deviceGone(.unregistered, at: nil).isFinal)
        #expect(Verdict.payloadError(.payloadTooLarge).isFinal)
        #expect(!Verdict.accepted(ticket: "t").isFinal)
        #expect(!Verdict.retry(.timeout, notBefore: .zero, scope: .message).isFinal)
        #expect(!Verdict.configError(.notFound, scope: .provider).isFinal)
        #expect(!Verdict.unknown(.timeout, notBefore: .zero).isFinal)
    }

    @Test("neither a configuration error nor a shutdown uses an attempt")
    func attempts() {
        #expect(!Verdict.configError(.certificate, scope: .provider).burnsAttempt)
        #expect(!Verdict.retry(.cancelled, notBefore: .zero, scope: .message).burnsAttempt)
        #expect(!Verdict.retry(.closed, notBefore: .zero, scope: .message).burnsAttempt)
        #expect(Verdict.retry(.connect, notBefore: .zero, scope: .provider).burnsAttempt)
        #expect(Verdict.unknown(.cancelled, notBefore: .zero).burnsAttempt)
    }

    @Test("some answers about a device or a mailbox are config errors if many users get them, and no others")
    func inMasses() {
        let suspicious: Set<VerdictReason> = [
            .senderIDMismatch, .badDeviceToken, .deviceTokenNotForTopic, .vapidMismatch,
        ]
        for reason in VerdictReason.allCases {
            let gone = Verdict.deviceGone(reason, at: nil).inMasses
            let scope: VerdictScope = reason == .vapidMismatch ? .device : .provider
            #expect(gone == (suspicious.contains(reason) ? .configError(reason, scope: scope) : nil))
            let isOfMails = reason == .mailboxUnknown || reason == .refusedByPolicy
            let ofMails = Verdict.configError(.senderRefused, scope: .provider)
            #expect(Verdict.payloadError(reason).inMasses == (isOfMails ? ofMails : nil))
            #expect(Verdict.configError(reason, scope: .provider).inMasses == nil)
            #expect(Verdict.retry(reason, notBefore: .zero, scope: .message).inMasses == nil)
        }
        #expect(Verdict.delivered(providerMessageID: nil).inMasses == nil)
    }

    @Test("reasons are distinct words without spaces that fit into a label")
    func words() {
        #expect(Set(VerdictReason.allCases.map(\.rawValue)).count == VerdictReason.allCases.count)
        for reason in VerdictReason.allCases {
            #expect(reason.rawValue.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(reason.rawValue.utf8.count <= 32)
        }
    }
}
