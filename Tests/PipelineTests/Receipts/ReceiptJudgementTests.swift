import BellhopRules
import Push
import ServiceRuntime
import Testing

@testable import Pipeline

@Suite("What receipts say together")
struct ReceiptJudgementTests {
    private static func verdicts(
        _ refused: [VerdictReason],
        scope: VerdictScope = .platform,
        delivered: Int
    ) -> [Verdict] {
        refused.map { .configError($0, scope: scope) }
            + Array(repeating: .delivered(providerMessageID: nil), count: delivered)
    }

    @Test("five refusals at least, and more than every second answer; the word is the one said most")
    func refusals() {
        let (four, five) = ([VerdictReason](repeating: .mismatchedSender, count: 4), VerdictReason.developerError)
        #expect(ReceiptRefusal.reason(among: Self.verdicts(four, delivered: 0)) == nil)
        #expect(ReceiptRefusal.reason(among: Self.verdicts(four + [five], delivered: 4)) == .mismatchedSender)
        #expect(ReceiptRefusal.reason(among: Self.verdicts(four + [five], delivered: 5)) == nil)
        #expect(ReceiptRefusal.reason(among: Self.verdicts(four + [five], scope: .message, delivered: 0)) == nil)
        #expect(ReceiptRefusal.reason(among: []) == nil)
    }

    @Test("the alarm of a mass death ends its count: one more dead device is no mass")
    func reset() throws {
        let app = try #require(AppID(validating: "drop"))
        let deaths = ReceiptDeaths()
        let gone = [Verdict](repeating: .deviceGone(.deviceNotRegistered, at: nil), count: 50)
        let now = Instant(microseconds: 0)
        #expect(deaths.areMany(gone, of: app, at: now))
        #expect(!deaths.areMany(Array(gone.prefix(1)), of: app, at: now))
        #expect(deaths.areMany(Array(gone.prefix(49)), of: app, at: now))
    }
}
