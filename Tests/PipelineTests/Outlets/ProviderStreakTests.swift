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
        let streaks = ProviderFailureStreaks()
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: .fcm)
        let away = Verdict.retry(.unavailable, notBefore: .seconds(1), scope: .message)
        streaks.note([away, away], outlet, at: Self.moment(0))
        streaks.note([away], outlet, at: Self.moment(30))
        streaks.note([], outlet, at: Self.moment(35))
        let (troubles, none) = streaks.current(at: Self.moment(40))
        #expect(none.isEmpty)
        #expect(
            troubles == [
                ProviderOutage(
                    app: "drop",
                    provider: "fcm",
                    word: "UNAVAILABLE",
                    since: Self.moment(0),
                    latest: Self.moment(30),
                    answers: 3
                )
            ]
        )
        streaks.note([away, .delivered(providerMessageID: nil)], outlet, at: Self.moment(50))
        let (over, takings) = streaks.current(at: Self.moment(60))
        #expect(over.isEmpty)
        #expect(takings == [ProviderSuccess(app: "drop", provider: "fcm", at: Self.moment(50))])
        streaks.note([.configError(.invalidProviderToken, scope: .message)], outlet, at: Self.moment(70))
        let (still, refused) = streaks.current(at: Self.moment(80))
        #expect(still.isEmpty)
        #expect(refused.isEmpty, "a breaker tells that")
        streaks.note([away], outlet, at: Self.moment(100))
        let (forgotten, _) = streaks.current(at: Self.moment(701))
        #expect(forgotten.isEmpty)
    }
}
