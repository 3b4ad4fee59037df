import BellhopRules
import Push
import Store
import Testing

@testable import Pipeline

@Suite("Retry tiers")
struct RetryLadderTests {
    private static let tiers = [10, 30, 120].map { RetryTier(.seconds($0)) }
    private static let ladder = RetryLadder(tiers: tiers, limit: 4)

    private static func after(
        _ verdict: Verdict,
        attempts: Int,
        limit: Int? = nil,
        isLate: Bool = false
    ) throws -> Disposition {
        var attempt = try Answered.attempt
        attempt.attempts = attempts
        attempt.limit = limit
        return ladder.disposition(of: attempt, after: verdict, isLate: isLate)
    }

    @Test("each attempt waits one tier longer, a late one another tier, at most the last, up to the retry limit")
    func tiers() throws {
        let verdict = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)
        let turns = try (0..<4).map { try Self.after(verdict, attempts: $0).tier }
        #expect(turns == [Self.tiers[0], Self.tiers[1], Self.tiers[2], nil])
        let late = try (0..<4).map { try Self.after(verdict, attempts: $0, isLate: true).tier }
        #expect(late == [Self.tiers[1], Self.tiers[2], Self.tiers[2], nil])
        let own = try Self.after(verdict, attempts: 0, limit: 1)
        #expect(own.settlement.state == .failed)
        #expect(own.settlement.reason == "attempts-exhausted")
        #expect(own.lastWord == "UNAVAILABLE")
    }

    @Test("a provider's wait is never shortened, and a wait beyond the last tier is stored in the database")
    func notBefore() throws {
        let asked = try Self.after(.retry(.quotaExceeded, notBefore: .seconds(60), scope: .provider), attempts: 0)
        #expect(asked.settlement.dueIn == .seconds(120))
        let long = try Self.after(.unknown(.timeout, notBefore: .seconds(900)), attempts: 0, isLate: true)
        #expect(long.tier == nil)
        #expect(long.settlement.state == .deferred)
        #expect(long.settlement.dueIn == .seconds(900))
        #expect(long.settlement.reason == "timeout")
        #expect(long.settlement.burnsAttempt)
        #expect(long.settlement.outcomeIsUnknown)
    }

    @Test("a wait between two tiers is stored in the database if the next tier would be far too late")
    func betweenTiers() throws {
        let ladder = RetryLadder(tiers: [10, 30, 120, 600, 3_600].map { RetryTier(.seconds($0)) }, limit: 8)
        let expected: [(wait: Int, due: Int, isTier: Bool)] = [
            (5, 10, true), (60, 120, true), (300, 300, false), (900, 900, false), (3_000, 3_600, true),
        ]
        for (wait, due, isTier) in expected {
            let verdict = Verdict.retry(.unavailable, notBefore: .seconds(wait), scope: .message)
            let disposition = ladder.disposition(of: try Answered.attempt, after: verdict)
            #expect(disposition.settlement.dueIn == .seconds(due), "\(wait) s")
            #expect((disposition.tier != nil) == isTier, "\(wait) s")
        }
    }

    @Test("a configuration error of a provider uses no attempt, and one of a single message uses one")
    func configuration() throws {
        let everybody = try Self.after(.configError(.permissionDenied, scope: .provider), attempts: 3)
        #expect(everybody.settlement.state == .deferred)
        #expect(everybody.settlement.dueIn == .seconds(60))
        #expect(everybody.settlement.reason == "breaker")
        #expect(!everybody.settlement.burnsAttempt)
        let one = Verdict.configError(.unknownVAPIDKey, scope: .message)
        #expect(try Self.after(one, attempts: 0).tier == Self.tiers[2])
        #expect(try Self.after(one, attempts: 3).lastWord != nil)
    }
}
