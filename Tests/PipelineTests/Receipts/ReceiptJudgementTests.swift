import BellhopRules
import Push
import ServiceRuntime
import Testing

@testable import Pipeline

@Suite("Judgement of receipts")
struct ReceiptJudgementTests {
    /// Returns answers about one message each, of as many users.
    private static func answers(
        _ refused: [VerdictReason],
        scope: VerdictScope = .platform,
        delivered: Int
    ) throws -> [ReceiptRefusal.Answer] {
        let verdicts =
            refused.map { Verdict.configError($0, scope: scope) }
            + [Verdict](repeating: .delivered(providerMessageID: nil), count: delivered)
        return try verdicts.enumerated().map { (try Answered.recipient("u\($0)"), $1) }
    }

    @Test("rejections need at least five users and more than half of the answers, and the most frequent reason is used")
    func refusals() throws {
        let four = [VerdictReason](repeating: .mismatchedSender, count: 4)
        let five = four + [.developerError]
        let few = try Self.answers(four, delivered: 0)
        let most = try Self.answers(five, delivered: 4)
        let half = try Self.answers(five, delivered: 5)
        let ofMessages = try Self.answers(five, scope: .message, delivered: 0)
        #expect(ReceiptRefusal.reason(among: few) == nil)
        #expect(ReceiptRefusal.reason(among: most) == .mismatchedSender)
        #expect(ReceiptRefusal.reason(among: half) == nil)
        #expect(ReceiptRefusal.reason(among: ofMessages) == nil)
        #expect(ReceiptRefusal.reason(among: []) == nil)
    }

    @Test("one user's devices of another project open no breaker, however many they are")
    func onePerson() throws {
        let answers = try Self.answers([VerdictReason](repeating: .mismatchedSender, count: 20), delivered: 0)
        let mallory = try Answered.recipient("mallory")
        #expect(ReceiptRefusal.reason(among: answers.map { (mallory, $0.verdict) }) == nil)
        #expect(ReceiptRefusal.reason(among: answers) == .mismatchedSender)
    }

    @Test("the alarm of a mass failure ends its count, and one more gone device does not trigger it again")
    func reset() throws {
        let app = try #require(AppID(validating: "drop"))
        let deaths = ReceiptRevocations()
        let gone = try Self.gone(50)
        let now = Instant(microseconds: 0)
        #expect(deaths.areMany(gone, of: app, at: now))
        #expect(!deaths.areMany(Array(gone.prefix(1)), of: app, at: now))
        #expect(deaths.areMany(Array(gone.prefix(49)), of: app, at: now))
    }

    @Test("a few users' gone devices do not count as a mass failure, however many they are")
    func fewPeople() throws {
        let app = try #require(AppID(validating: "drop"))
        let three = try Self.gone(60).enumerated().map { (try Answered.recipient("u\($0 % 3)"), $1.verdict) }
        #expect(!ReceiptRevocations().areMany(three, of: app, at: Instant(microseconds: 0)))
    }

    private static func gone(_ count: Int) throws -> [ReceiptRefusal.Answer] {
        try (0..<count).map { (try Answered.recipient("u\($0)"), .deviceGone(.deviceNotRegistered, at: nil)) }
    }
}
