import Push
import Testing

@testable import Pipeline

@Suite("The ladder of retries")
struct RetryLadderTests {
    private static let tiers = [10, 30, 120].map { RetryTier(.seconds($0)) }
    private static let ladder = RetryLadder(tiers: tiers, limit: 4)

    private static func seconds(_ step: RetryLadder.Step) -> Duration? {
        switch step {
        case .retry(let tier, _, _): tier.delay
        case .postpone(let wait, _, _): wait
        default: nil
        }
    }

    @Test("each attempt waits a tier longer, a late one a tier more, the last tier for ever, and the limit ends it")
    func tiers() {
        let verdict = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)
        let turns = (0..<4).map { Self.seconds(Self.ladder.step(after: verdict, attempts: $0)) }
        #expect(turns == [.seconds(10), .seconds(30), .seconds(120), nil])
        let late = (0..<4).map { Self.seconds(Self.ladder.step(after: verdict, attempts: $0, isLate: true)) }
        #expect(late == [.seconds(30), .seconds(120), .seconds(120), nil])
        let own = Self.ladder.step(after: verdict, attempts: 0, limit: 1)
        #expect(own == .giveUp(reason: "attempts-exhausted", lastReason: "UNAVAILABLE"))
    }

    @Test("a provider's wait is never cut short, and one that outlasts the tiers is the database's")
    func notBefore() {
        let asked = Verdict.retry(.quotaExceeded, notBefore: .seconds(60), scope: .provider)
        #expect(Self.seconds(Self.ladder.step(after: asked, attempts: 0)) == .seconds(120))
        let long = Verdict.unknown(.timeout, notBefore: .seconds(900))
        let step = Self.ladder.step(after: long, attempts: 0, isLate: true)
        #expect(step == .postpone(.seconds(900), reason: "timeout", burnsAttempt: true))
    }

    @Test("our own fault for everybody burns nothing, for one message it is counted")
    func configuration() {
        let everybody = Self.ladder.step(after: .configError(.permissionDenied, scope: .provider), attempts: 3)
        #expect(everybody == .postpone(.seconds(60), reason: "breaker", burnsAttempt: false))
        let one = Verdict.configError(.unknownVAPIDKey, scope: .message)
        #expect(Self.seconds(Self.ladder.step(after: one, attempts: 0)) == .seconds(120))
        guard case .giveUp = Self.ladder.step(after: one, attempts: 3) else {
            Issue.record("it is never given up")
            return
        }
    }
}
