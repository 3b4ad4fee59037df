import BellhopRules
import Push
import Store
import Testing

@testable import Pipeline

@Suite("Provider problems of a worker")
struct ProviderStreakTests {
    private static func moment(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: 1_767_225_600_000_000 + seconds * 1_000_000)
    }

    @Test("consecutive failures are one problem with a start and an end, and an accepted push ends it and is reported")
    func streak() throws {
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: .fcm)
        let away = Verdict.retry(.unavailable, notBefore: .seconds(1), scope: .message)
        var streak: ProviderFailureStreak?
        let note = { (verdicts: [Verdict], seconds: Int64) in
            streak = .after(verdicts, streak, at: outlet, now: Self.moment(seconds))
        }
        note([away, away], 0)
        note([away], 30)
        note([], 35)
        let outage = ProviderOutage(
            app: "drop",
            provider: "fcm",
            word: "UNAVAILABLE",
            since: Self.moment(0),
            latest: Self.moment(30),
            answers: 3
        )
        #expect(streak == .failing(outage))
        note([away, .delivered(providerMessageID: nil)], 50)
        let recovery = Self.moment(50)
        let success = ProviderSuccess(app: "drop", provider: "fcm", at: recovery, recoveredAt: recovery)
        #expect(streak == .accepting(success))
        note([.delivered(providerMessageID: nil)], 60)
        let later = ProviderSuccess(app: "drop", provider: "fcm", at: Self.moment(60), recoveredAt: recovery)
        #expect(streak == .accepting(later), "the retries of the outage may still wait")
        #expect(streak?.isCurrent(at: Self.moment(3_000)) == true)
        note([.configError(.invalidProviderToken, scope: .message)], 70)
        #expect(streak == nil, "a breaker reports that")
        note([away], 100)
        #expect(streak?.isCurrent(at: Self.moment(699)) == true)
        #expect(streak?.isCurrent(at: Self.moment(701)) == false)
    }
}
