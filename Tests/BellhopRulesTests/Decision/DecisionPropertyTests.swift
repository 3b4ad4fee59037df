import BellhopRules
import TestSupport
import Testing

@Suite("Random decisions")
struct DecisionPropertyTests {
    @Test("a decision and its explanation agree for random facts, and the rules keep their order")
    func anyFacts() throws {
        var chance = SeededChance.announced("decisions")
        let catalog = try DecisionSample.catalog()
        for round in 0..<SeededChance.rounds(5_000) {
            let facts = try RandomFacts.make(catalog, &chance)
            let (decision, steps) = Decision.explained(facts)
            let place: Comment = "seed \(chance.seed), round \(round), \(facts.type.type)"
            #expect(Decision(facts) == decision, place)
            #expect(Decision.explained(facts).steps == steps, place)
            expectOrder(steps, place)
            expectDeciders(decision, steps, place)
            expectPromises(decision, facts, place)
        }
    }

    /// Checks that rules are in order and end at the first rejection, for all devices and then for each of them.
    private func expectOrder(_ steps: [RuleStep], _ place: Comment) {
        for (_, asked) in Dictionary(grouping: steps, by: \.device) {
            // A type that is mailed and not pushed by default is evaluated again for devices.
            let places = asked.filter { $0.rule != .type || $0.outcome == nil }
                .compactMap { Rule.allCases.firstIndex(of: $0.rule) }
            #expect(places == places.sorted(), place)
            let noes = asked.filter { $0.outcome != nil && $0.rule != .email }
            #expect(noes.count <= 1, place)
            #expect(noes.first == nil || asked.last == noes.first, place)
        }
    }

    /// Checks that each outcome is that of the last rule evaluated for it.
    private func expectDeciders(_ decision: Decision, _ steps: [RuleStep], _ place: Comment) {
        if let push = decision.push {
            #expect(steps.last?.outcome == push, place)
            #expect(decision.devices.isEmpty, place)
        }
        for ruling in decision.devices {
            let last = steps.last { $0.device == ruling.device.subscription }
            #expect(last?.outcome == ruling.outcome, place)
        }
        if let step = steps.first(where: { $0.rule == .email }) { #expect(step.outcome == decision.email, place) }
    }

    private func expectPromises(_ decision: Decision, _ facts: DecisionFacts, _ place: Comment) {
        let outcomes = decision.devices.map(\.outcome) + [decision.push, decision.email].compactMap { $0 }
        for outcome in outcomes {
            if case .wait(let wait) = outcome {
                #expect(wait.until > facts.now, place)
                if let expiresAt = facts.expiresAt { #expect(wait.until < expiresAt, place) }
            }
            if outcome == .send { #expect(facts.expiresAt.map { $0 > facts.now } ?? true, place) }
            if facts.type.isMandatory {
                #expect(![.suppress(.muted), .suppress(.typeMuted), .suppress(.topicMuted)].contains(outcome), place)
            }
        }
        if case .wait? = decision.email { Issue.record("e-mail waits, \(place)") }
        if !decision.isRecorded {
            let isMeant = facts.follow.map { !$0.hasEnded && facts.type.reaches($0.role) } ?? true
            #expect(facts.type.whenMuted == .drop || !isMeant, place)
        }
        if facts.recipient.devices.isEmpty { #expect(decision.push != nil, place) }
    }
}

/// Facts of all kinds; facts that permit a send are frequent.
private enum RandomFacts {
    static func make(_ catalog: Catalog, _ chance: inout SeededChance) throws -> DecisionFacts {
        let type = try #require(catalog.types.randomElement(using: &chance))
        let now = Int64.random(in: 1_740_000_000...1_800_000_000, using: &chance) * 1_000_000
        func rarely() -> Bool { Int.random(in: 0..<8, using: &chance) == 0 }
        return try DecisionSample.facts(type.type.text, in: catalog) { facts in
            facts.now = Timestamp(clamping: now)
            if Bool.random(using: &chance) {
                let distance = Int64.random(in: -3_600...172_800, using: &chance)
                facts.expiresAt = Timestamp(clamping: now + distance * 1_000_000)
            }
            facts.history.isRead = rarely()
            facts.history.isSuperseded = rarely()
            facts.history.digest = rarely() ? facts.now : nil
            if Bool.random(using: &chance) {
                let role = ["owner", "observer", ""].randomElement(using: &chance) ?? ""
                facts.follow = DecisionFacts.Follow(role: FollowRole(validating: role), isMuted: rarely())
            }
            facts.recipient = try recipient(facts.recipient, type.type, &chance)
        }
    }

    private static func recipient(
        _ usual: Recipient,
        _ type: EventType,
        _ chance: inout SeededChance
    ) throws -> Recipient {
        var recipient = usual
        let zones = ["Europe/Oslo", "America/New_York", "Asia/Karachi", "Mars/Olympus_Mons"]
        recipient.timezone = zones.randomElement(using: &chance).flatMap(TimeZoneName.init(validating:))
        recipient.pushEnabled = Int.random(in: 0..<6, using: &chance) > 0
        recipient.emailEnabled = Bool.random(using: &chance)
        if Bool.random(using: &chance) { recipient.email = nil }
        if Bool.random(using: &chance) {
            let (low, high) = (Int.random(in: 0..<23, using: &chance), 23)
            recipient.preferences = DecisionSample.preferences(
                enabled: Int.random(in: 0..<6, using: &chance) > 0,
                toggles: Bool.random(using: &chance) ? [type.text: .bool(Bool.random(using: &chance))] : [:],
                quiet: Bool.random(using: &chance) ? low...Int.random(in: low...high, using: &chance) : nil
            )
        }
        recipient.devices = try DevicePlatform.allCases.filter { _ in Bool.random(using: &chance) }.map { platform in
            let provider = try #require(PushProvider.allCases.randomElement(using: &chance))
            let permission = PushPermission.allCases.randomElement(using: &chance)
            return try DecisionSample.device(platform, provider, Bool.random(using: &chance) ? permission : .granted)
        }
        return recipient
    }
}
