import BellhopRules
import Push
import ServiceRuntime
import Store
import Testing

@testable import Pipeline

@Suite("Counts of an outlet's answers")
struct OutletTallyTests {
    private static func moment(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: 1_767_225_600_000_000 + seconds * 1_000_000)
    }

    @Test("answers count in their minute and the next one, and the latest acceptance and rejection stay known")
    func minutes() throws {
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: .fcm)
        var tally = OutletTally(from: Self.moment(0))
        let unused = tally.activity(of: outlet, at: Self.moment(0))
        #expect(unused.acceptedAt == nil && unused.accepted == 0 && unused.seconds == 1)
        let away = Verdict.retry(.unavailable, notBefore: .seconds(1), scope: .message)
        tally.note([.delivered(providerMessageID: nil), away], took: .milliseconds(20), at: Self.moment(30))
        tally.note([away], took: .seconds(60), at: Self.moment(50))
        tally.note([], took: .seconds(1), at: Self.moment(51))
        let next = tally.activity(of: outlet, at: Self.moment(70))
        #expect(next.app == "drop" && next.provider == "fcm" && next.seconds == 70)
        #expect(next.accepted == 1 && next.rejected == 2)
        #expect(next.acceptedAt == Self.moment(30) && next.rejectedAt == Self.moment(50))
        #expect(next.word == "UNAVAILABLE")
        // Up to 25 ms there is one request, and the other one is longer than every bound.
        let first = Histogram.secondBounds.firstIndex(of: 0.025)
        #expect(next.spans.firstIndex(of: 1) == first && next.spans.last == 2)
        let late = tally.activity(of: outlet, at: Self.moment(130))
        #expect(late.accepted == 0 && late.rejected == 0 && late.spans.last == 0 && late.seconds == 70)
        #expect(late.acceptedAt == Self.moment(30) && tally.allAccepted == 1)
    }

    @Test("gone devices are counted among the rejected")
    func gone() throws {
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: .fcm)
        var tally = OutletTally(from: Self.moment(0))
        let gone = Verdict.deviceGone(.unregistered, at: nil)
        let away = Verdict.retry(.unavailable, notBefore: .seconds(1), scope: .message)
        tally.note([gone, away, gone, .delivered(providerMessageID: nil)], took: .zero, at: Self.moment(30))
        let activity = tally.activity(of: outlet, at: Self.moment(70))
        #expect(activity.gone == 2 && activity.rejected == 3 && activity.accepted == 1)
        let late = tally.activity(of: outlet, at: Self.moment(130))
        #expect(late.gone == 0)
    }
    @Test("devices that are restored after a mass failure are no longer counted as gone")
    func restored() throws {
        let outlet = OutletKey(app: try #require(AppID(validating: "drop")), provider: .fcm)
        var tally = OutletTally(from: Self.moment(0))
        let gone = Verdict.deviceGone(.unregistered, at: nil)
        tally.note([gone, gone], took: .zero, at: Self.moment(30))
        tally.note([gone], took: .zero, at: Self.moment(70))
        tally.forgetGone()
        let activity = tally.activity(of: outlet, at: Self.moment(80))
        #expect(activity.gone == 0 && activity.rejected == 3)
        tally.note([gone], took: .zero, at: Self.moment(90))
        let next = tally.activity(of: outlet, at: Self.moment(100))
        #expect(next.gone == 1)
    }
}
