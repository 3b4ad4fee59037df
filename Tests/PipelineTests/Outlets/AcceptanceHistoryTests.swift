import BellhopRules
import Push
import Store
import Testing

@testable import Pipeline

@Suite("Answers about reached and unreached devices")
struct AcceptanceHistoryTests {
    private static let taken = Verdict.delivered(providerMessageID: nil)
    private static let foreign = Verdict.deviceGone(.senderIDMismatch, at: nil)
    private static let dead = Verdict.deviceGone(.unregistered, at: nil)
    private static let tryAgain = Verdict.configError(.senderIDMismatch, scope: .device)
    private static let android = AcceptanceHistory(platforms: [.android])

    @Test("unreached devices in any number open no breaker and are not revoked while the credentials are unproven")
    func strangers() throws {
        let strangers = Answered.people(20, Self.foreign)
        let (before, _) = try Answered.judged(strangers)
        #expect(!before.refusals.isEmpty)
        let (after, _) = try Answered.judged(strangers, Self.android)
        #expect(after.refusals.isEmpty)
        #expect(after.verdicts == [Verdict](repeating: Self.tryAgain, count: 20))
    }

    @Test("unreached devices are revoked once the provider has accepted a push recently")
    func provenKeys() throws {
        let lately = AcceptanceHistory(platforms: [.android], recentlyAccepted: [nil])
        let (judgement, _) = try Answered.judged(Answered.people(20, Self.foreign), lately)
        #expect(judgement.refusals.isEmpty)
        #expect(judgement.verdicts == [Verdict](repeating: Self.foreign, count: 20))
    }

    @Test("five users with reached devices open the breaker and four do not, whatever the answers about unreached ones")
    func honest() throws {
        let strangers = Answered.people(30, from: 10, Self.foreign)
        for (people, opens) in [(4, false), (5, true)] {
            let answers = Answered.people(people, Self.foreign, wasReached: true) + strangers
            let (judgement, outlet) = try Answered.judged(answers, Self.android)
            let expected: [BreakerKey: String] = opens ? [BreakerKey(outlet): "SENDER_ID_MISMATCH"] : [:]
            #expect(judgement.refusals == expected)
        }
        let many = Answered.people(6, Self.foreign, wasReached: true) + Answered.people(6, from: 6, Self.taken)
        let (healthy, _) = try Answered.judged(many, Self.android)
        #expect(healthy.verdicts.prefix(6) == [Verdict](repeating: Self.foreign, count: 6)[...])
    }

    @Test("an answer that depends on a device's stated environment or platform affects only that unreached device")
    func chosenWords() throws {
        let key = Verdict.configError(.badEnvironmentKeyID, scope: .provider)
        var answer = Answered(person: "u1", verdict: key, platform: .ios)
        answer.environment = .sandbox
        let apple = AcceptanceHistory(platforms: [.ios])
        let (alone, outlet) = try Answered.judged([answer], through: .apns)
        #expect(alone.refusals.keys.contains(BreakerKey(outlet)))
        let (known, _) = try Answered.judged([answer], through: .apns, apple)
        #expect(known.refusals.isEmpty)
        answer.wasReached = true
        let (real, _) = try Answered.judged([answer], through: .apns, apple)
        #expect(!real.refusals.isEmpty)
        let platform = Verdict.configError(.thirdPartyAuthError, scope: .platform)
        let phone = Answered(person: "u1", verdict: platform, platform: .ios)
        let (first, _) = try Answered.judged([phone], Self.android)
        #expect(!first.refusals.isEmpty)
        let (later, _) = try Answered.judged([phone], apple)
        #expect(later.refusals.isEmpty)
    }

    @Test(
        "an error that one recipient can cause is that recipient's after recent successes, up to four users",
        arguments: [
            Verdict.configError(.notAuthorized, scope: .provider), .configError(.developerError, scope: .provider),
            .configError(.mismatchedSender, scope: .platform), .configError(.invalidCredentials, scope: .platform),
            .configError(.refusedByPolicy, scope: .provider),
        ]
    )
    func ofOneRecipient(_ refusal: Verdict) throws {
        let lately = AcceptanceHistory(recentlyAccepted: [nil], platformsTakenLately: [.android])
        let (first, _) = try Answered.judged(Answered.people(1, refusal), through: .expo)
        #expect(!first.refusals.isEmpty)
        let (alone, _) = try Answered.judged(Answered.people(4, refusal), through: .expo, lately)
        #expect(alone.refusals.isEmpty)
        #expect(alone.rulings == alone.verdicts.map(Optional.some))
        #expect(alone.verdicts.allSatisfy { $0 == refusal.ofOneRecipient })
        let (many, _) = try Answered.judged(Answered.people(5, refusal), through: .expo, lately)
        #expect(!many.refusals.isEmpty)
    }

    @Test("pushes accepted for one platform neither prove another platform's keys nor outnumber its devices")
    func keysOfPlatforms() throws {
        let refusal = Verdict.configError(.invalidCredentials, scope: .platform)
        let phones = (0..<5).map { Answered(person: "u\($0)", verdict: refusal, platform: .ios) }
        let others = Answered.people(20, from: 5, Self.taken)
        let android = AcceptanceHistory(recentlyAccepted: [nil], platformsTakenLately: [.android])
        let (unknown, outlet) = try Answered.judged([phones[0]], through: .expo, android)
        #expect(unknown.refusals.keys.contains(BreakerKey(outlet, platform: .ios)))
        let both = AcceptanceHistory(recentlyAccepted: [nil], platformsTakenLately: [.android, .ios])
        let (known, _) = try Answered.judged([phones[0]], through: .expo, both)
        #expect(known.refusals.isEmpty)
        let (mixed, _) = try Answered.judged(phones + others, through: .expo, both)
        #expect(mixed.refusals.keys.contains(BreakerKey(outlet, platform: .ios)))
    }

    @Test("a key that is rejected for all devices opens the breaker without a reached device")
    func wrongKey() throws {
        let wrong = Verdict.configError(.permissionDenied, scope: .provider)
        let (judgement, outlet) = try Answered.judged(Answered.people(1, wrong), Self.android)
        #expect(judgement.refusals == [BreakerKey(outlet): "PERMISSION_DENIED"])
    }

    @Test("gone unreached devices are not counted among gone reached devices")
    func deaths() throws {
        let strangers = Answered.people(60, from: 3, Self.dead)
        let known = Answered.people(2, Self.dead, wasReached: true) + Answered.people(1, from: 2, Self.taken)
        let (judgement, _) = try Answered.judged(strangers + known)
        #expect(judgement.deaths.people == 62 && judgement.deaths.answers == 63)
        #expect(judgement.deathsOfReached.people == 2 && judgement.deathsOfReached.answers == 3)
    }

    @Test("accepted pushes count for ten minutes, and all platforms count as reached until they were read")
    func memory() throws {
        let shipments = [try Answered.shipment]
        let outlet = shipments[0].outlet
        let start = ContinuousClock.now
        var known = AcceptanceHistoryCache(of: outlet)
        #expect(known.history(at: start).platforms == Set(DevicePlatform.allCases))
        known.reached = [.android]
        #expect(known.history(at: start) == AcceptanceHistory(platforms: [.android]))
        known.note([Self.taken], of: shipments, at: start)
        #expect(known.history(at: start + .seconds(599)).recentlyAccepted == [nil])
        #expect(known.history(at: start + .seconds(600)).recentlyAccepted == [])
        let browsers = AcceptanceHistoryCache(of: OutletKey(app: outlet.app, provider: .webpush))
        #expect(browsers.history(at: start) == .everybody)
    }
}
