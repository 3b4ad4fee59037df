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
    ) throws -> [MassFailure.Answer] {
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
        #expect(MassFailure.refusal(among: few) == nil)
        #expect(MassFailure.refusal(among: most) == .mismatchedSender)
        #expect(MassFailure.refusal(among: half) == nil)
        #expect(MassFailure.refusal(among: ofMessages) == nil)
        #expect(MassFailure.refusal(among: []) == nil)
    }

    @Test("one user's devices of another project open no breaker, however many they are")
    func onePerson() throws {
        let answers = try Self.answers([VerdictReason](repeating: .mismatchedSender, count: 20), delivered: 0)
        let mallory = try Answered.recipient("mallory")
        #expect(MassFailure.refusal(among: answers.map { (mallory, $0.verdict) }) == nil)
        #expect(MassFailure.refusal(among: answers) == .mismatchedSender)
    }

    @Test("the alarm of a mass failure ends its count, and one more gone device does not trigger it again")
    func reset() throws {
        var tally = try Self.tally
        let gone = try Self.gone(50)
        let alarms = [50, 1, 49].map { count in
            tally.detectsMassFailure(inReceipts: Array(gone.prefix(count)), at: Instant(microseconds: 0))
        }
        #expect(alarms == [true, false, true])
    }

    @Test("a few users' gone devices do not count as a mass failure, however many they are")
    func fewPeople() throws {
        var tally = try Self.tally
        let three = try Self.gone(60).enumerated().map { (try Answered.recipient("u\($0 % 3)"), $1.verdict) }
        let isMassFailure = tally.detectsMassFailure(inReceipts: three, at: Instant(microseconds: 0))
        #expect(!isMassFailure)
    }

    private static var tally: AnswerTally {
        get throws { AnswerTally(of: OutletKey(app: try #require(AppID(validating: "drop")), provider: .expo)) }
    }

    private static func gone(_ count: Int) throws -> [MassFailure.Answer] {
        try (0..<count).map { (try Answered.recipient("u\($0)"), .deviceGone(.deviceNotRegistered, at: nil)) }
    }
}
