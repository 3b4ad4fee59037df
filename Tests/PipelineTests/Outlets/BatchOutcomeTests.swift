import BellhopRules
import Push
import Store
import Testing

@testable import Pipeline

@Suite("Judgement of a batch's answers")
struct BatchOutcomeTests {
    private static let taken = Verdict.delivered(providerMessageID: nil)
    private static let foreign = Verdict.deviceGone(.senderIDMismatch, at: nil)
    private static let wrongAccount = Verdict.configError(.senderIDMismatch, scope: .provider)
    private static let dead = Verdict.deviceGone(.unregistered, at: nil)
    private static let wrongKey = Verdict.configError(.permissionDenied, scope: .provider)
    private static let wrongAppleKey = Verdict.configError(.thirdPartyAuthError, scope: .platform)

    @Test(
        "a configuration error is likely if most answers and at least five users are affected",
        arguments: [
            (blamed: ["a", "b", "c", "d", "e"], answers: 5, isOurs: true),
            (["a", "b", "c", "d", "e"], 9, true),
            (["a", "b", "c", "d", "e"], 10, false),
            (["a", "b", "c", "d"], 4, false),
            (["a", "b", "c", "d", "d"], 5, false),
            (["a", "b", "c", "d", "e", "e"], 11, true),
            ([String](repeating: "a", count: 20), 20, false),
            ([], 0, false),
        ]
    )
    func rule(_ blamed: [String], _ answers: Int, _ isOurs: Bool) throws {
        let people = try blamed.map(Answered.recipient)
        #expect(MassFailure.isLikely(people, of: answers) == isOurs)
    }

    @Test(
        "an answer that may be a configuration error is one if five users get it, and otherwise stands for itself",
        arguments: [
            (foreign, wrongAccount),
            (.deviceGone(.badDeviceToken, at: nil), .configError(.badDeviceToken, scope: .provider)),
            (.deviceGone(.deviceTokenNotForTopic, at: nil), .configError(.deviceTokenNotForTopic, scope: .provider)),
            (.deviceGone(.vapidMismatch, at: nil), .configError(.vapidMismatch, scope: .device)),
            (.payloadError(.mailboxUnknown), .configError(.senderRefused, scope: .provider)),
            (.payloadError(.refusedByPolicy), .configError(.senderRefused, scope: .provider)),
            (dead, dead), (.payloadError(.payloadTooLarge), .payloadError(.payloadTooLarge)),
        ]
    )
    func suspicions(_ alone: Verdict, _ together: Verdict) throws {
        let (many, _) = try Answered.judged(Answered.people(5, alone) + Answered.people(4, from: 5, Self.taken))
        #expect(many.verdicts == [Verdict](repeating: together, count: 5) + [Verdict](repeating: Self.taken, count: 4))
        let (half, _) = try Answered.judged(Answered.people(5, alone) + Answered.people(5, from: 5, Self.taken))
        #expect(half.verdicts.prefix(5) == [alone, alone, alone, alone, alone])
        let (few, _) = try Answered.judged(Answered.people(4, alone) + Answered.people(4, alone))
        #expect(few.verdicts == [Verdict](repeating: alone, count: 8))
        #expect(few.refusals.isEmpty)
        #expect(few.rulings == few.verdicts)
    }

    @Test("registrations that can reach no device open no breaker, however many, and each revokes its own device")
    func registrations() throws {
        for reason in [VerdictReason.endpointRefused, .subscriptionUnusable] {
            let unreachable = Verdict.deviceGone(reason, at: nil)
            let (judgement, _) = try Answered.judged(Answered.people(60, unreachable))
            #expect(judgement.refusals.isEmpty && !judgement.provesAccess)
            #expect(judgement.rulings == [Verdict?](repeating: unreachable, count: 60))
        }
    }

    @Test("answers with the same configuration error as their possible cause count together, and others do not")
    func together() throws {
        let mails = Answered.people(3, .payloadError(.mailboxUnknown))
        let (judgement, _) = try Answered.judged(mails + Answered.people(2, from: 3, .payloadError(.refusedByPolicy)))
        #expect(judgement.verdicts == [Verdict](repeating: .configError(.senderRefused, scope: .provider), count: 5))
        let tokens = Answered.people(4, .deviceGone(.badDeviceToken, at: nil))
        let (others, _) = try Answered.judged(
            tokens + Answered.people(4, from: 4, .deviceGone(.deviceTokenNotForTopic, at: nil))
        )
        #expect(others.verdicts.allSatisfy { $0.isGone })
    }

    @Test("devices in one environment of APNs do not count for the other environment; FCM has only one")
    func environments() throws {
        let bad = Verdict.deviceGone(.badDeviceToken, at: nil)
        var answers = Answered.people(5, bad) + Answered.people(10, from: 5, Self.taken) + Answered.people(4, bad)
        for index in 5..<19 { answers[index].environment = .sandbox }
        let (apple, _) = try Answered.judged(answers, through: .apns)
        #expect(apple.verdicts[..<5].allSatisfy { $0 == .configError(.badDeviceToken, scope: .provider) })
        #expect(apple.verdicts[15...].allSatisfy { $0 == bad })
        var foreign = Answered.people(6, Self.foreign)
        for index in 3..<6 { foreign[index].environment = .sandbox }
        let (google, _) = try Answered.judged(foreign)
        #expect(google.verdicts == [Verdict](repeating: Self.wrongAccount, count: 6))
    }

    @Test("a config error opens the breaker of the provider or of the platform, and its deliveries wait")
    func refusals() throws {
        let (all, outlet) = try Answered.judged(Answered.people(1, Self.wrongKey) + Answered.people(1, Self.dead))
        #expect(all.refusals == [BreakerKey(outlet): "PERMISSION_DENIED"])
        #expect(all.rulings == [nil, Self.dead])
        let (apple, _) = try Answered.judged([
            Answered(person: "u1", verdict: Self.wrongAppleKey, platform: .ios),
            Answered(person: "u2", verdict: Self.taken, platform: .android),
        ])
        #expect(apple.refusals == [BreakerKey(outlet, platform: .ios): "THIRD_PARTY_AUTH_ERROR"])
        #expect(apple.rulings == [nil, Self.taken])
        let (foreign, _) = try Answered.judged(Answered.people(5, Self.foreign))
        #expect(foreign.refusals == [BreakerKey(outlet): "SENDER_ID_MISMATCH"])
        #expect(foreign.rulings == [Verdict?](repeating: nil, count: 5))
    }

    @Test(
        "no breaker opens if other messages were accepted: the message is at fault, and its attempts count",
        arguments: [wrongKey, wrongAppleKey, wrongAccount]
    )
    func others(_ error: Verdict) throws {
        let (judgement, _) = try Answered.judged(Answered.people(6, error) + Answered.people(1, Self.taken))
        #expect(judgement.refusals.isEmpty)
        let reason = try #require(error.reason)
        let ownFault = Verdict.configError(reason, scope: .message)
        let expected = [Verdict?](repeating: ownFault, count: 6) + [Self.taken]
        #expect(judgement.rulings == expected)
    }

    @Test("a probe with the reason of its breaker confirms it, and another answer stands for itself")
    func probes() throws {
        let (same, outlet) = try Answered.judged(
            Answered.people(1, Self.foreign),
            AcceptanceHistory(probed: "SENDER_ID_MISMATCH")
        )
        #expect(same.refusals == [BreakerKey(outlet): "SENDER_ID_MISMATCH"])
        #expect(same.rulings == [nil])
        #expect(!same.provesAccess)
        let (other, _) = try Answered.judged(
            Answered.people(1, Self.foreign),
            AcceptanceHistory(probed: "PERMISSION_DENIED")
        )
        #expect(other.refusals.isEmpty)
        #expect(other.rulings == [Self.foreign])
    }

    @Test("browsers that are subscribed with another key open no breaker, however many users they belong to")
    func browsers() throws {
        let (judgement, _) = try Answered.judged(Answered.people(20, .deviceGone(.vapidMismatch, at: nil)))
        #expect(judgement.refusals.isEmpty)
        let expected = Verdict.configError(.vapidMismatch, scope: .device)
        #expect(judgement.rulings == [Verdict?](repeating: expected, count: 20))
    }

    @Test("no device is revoked during a mass failure, and the provider's breaker is open")
    func massDeath() throws {
        let answers =
            Answered.people(2, Self.dead) + Answered.people(1, Self.taken) + Answered.people(1, Self.wrongAppleKey)
        var (judgement, outlet) = try Answered.judged(answers)
        #expect(judgement.rulings.prefix(2) == [Self.dead, Self.dead])
        judgement.isMassDeath = true
        #expect(judgement.refusals == [BreakerKey(outlet): "mass-death"])
        let expected: [Verdict?] = [nil, nil, Self.taken, nil]
        #expect(judgement.rulings == expected)
    }

    @Test("gone devices are counted by user, and answers that are taken for a configuration error do not count")
    func peopleGone() throws {
        let (three, _) = try Answered.judged(Answered.people(3, Self.dead) + Answered.people(2, Self.dead))
        #expect(three.deaths.people == 3 && three.deaths.answers == 5)
        let (ours, _) = try Answered.judged(Answered.people(5, Self.foreign) + Answered.people(1, Self.dead))
        #expect(ours.deaths.people == 1 && ours.deaths.answers == 6)
        let (none, _) = try Answered.judged(Answered.people(3, Self.taken))
        #expect(none.deaths.people == 0 && none.deaths.answers == 3)
    }

    @Test("the longest wait that a provider asks for applies, and a malformed token does not prove access")
    func otherConclusions() throws {
        let silences = [10, 30, 20].map { Verdict.retry(.quotaExceeded, notBefore: .seconds($0), scope: .provider) }
        let (silent, _) = try Answered.judged(silences.map { Answered(person: "u1", verdict: $0) })
        #expect(silent.rest == .seconds(30))
        #expect(!silent.provesAccess)
        let (malformed, _) = try Answered.judged(Answered.people(2, .deviceGone(.invalidToken, at: nil)))
        #expect(malformed.rest == nil)
        #expect(!malformed.provesAccess)
        let (dead, _) = try Answered.judged(Answered.people(1, Self.dead))
        #expect(dead.provesAccess)
    }
}
