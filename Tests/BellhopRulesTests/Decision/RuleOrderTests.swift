import BellhopRules
import Testing

@Suite("Order of the rules")
struct RuleOrderTests {
    /// A fact that makes one rule reject.
    struct Obstacle: Sendable, CustomTestStringConvertible {
        let rule: Rule
        let outcome: Outcome
        let raise: @Sendable (inout DecisionFacts, inout Wishes) throws -> Void

        var testDescription: String { rule.rawValue }
    }

    /// The user's choices, which several rules use.
    struct Wishes {
        var enabled = true
        var toggle = true
    }

    /// Obstacles in the order of the rules, except those of time, which come last and one at a time.
    static let obstacles: [Obstacle] = [
        Obstacle(rule: .expiry, outcome: .expire) { facts, _ in facts.expiresAt = facts.now },
        Obstacle(rule: .superseded, outcome: .suppress(.superseded)) { facts, _ in facts.history.isSuperseded = true },
        Obstacle(rule: .read, outcome: .suppress(.alreadyRead)) { facts, _ in facts.history.isRead = true },
        Obstacle(rule: .follow, outcome: .suppress(.unfollowed)) { facts, _ in facts.follow?.hasEnded = true },
        Obstacle(rule: .role, outcome: .suppress(.notAddressed)) { facts, _ in facts.follow?.role = nil },
        Obstacle(rule: .master, outcome: .suppress(.muted)) { _, wishes in wishes.enabled = false },
        Obstacle(rule: .type, outcome: .suppress(.typeMuted)) { _, wishes in wishes.toggle = false },
        Obstacle(rule: .topic, outcome: .suppress(.topicMuted)) { facts, _ in facts.follow?.isMuted = true },
        Obstacle(rule: .pushEnabled, outcome: .suppress(.pushDisabled)) { facts, _ in
            facts.recipient.pushEnabled = false
        },
        Obstacle(rule: .devices, outcome: .suppress(.noDevice)) { facts, _ in facts.recipient.devices = [] },
        Obstacle(rule: .followingDevice, outcome: .suppress(.otherDevice)) { facts, _ in facts.follow?.devices = [] },
        Obstacle(rule: .provider, outcome: .suppress(.noProvider)) { facts, _ in
            let permission = facts.recipient.devices.first?.permission
            facts.recipient.devices = [try DecisionSample.device(.ios, .expo, permission)]
        },
        Obstacle(rule: .permission, outcome: .suppress(.noPermission)) { facts, _ in
            facts.recipient.devices = [try DecisionSample.device(.ios, .apns, .denied)]
        },
    ]

    /// Returns facts of a gathered type for owners at night, with these obstacles, the last ones raised first.
    private func facts(_ obstacles: some Collection<Obstacle>) throws -> DecisionFacts {
        try DecisionSample.facts("news", at: DecisionSample.night) { facts in
            facts.follow = DecisionFacts.Follow(role: FollowRole(validating: "owner"))
            facts.expiresAt = try at("2027-01-01T00:00:00Z")
            facts.recipient.devices = [try DecisionSample.device(.ios, .apns)]
            var wishes = Wishes()
            for obstacle in Array(obstacles).reversed() { try obstacle.raise(&facts, &wishes) }
            facts.recipient.preferences = DecisionSample.preferences(
                enabled: wishes.enabled,
                toggles: ["news": .bool(wishes.toggle)],
                quiet: 7...22
            )
        }
    }

    @Test("the first of several rejecting rules decides", arguments: obstacles.indices)
    func first(index: Int) throws {
        let obstacle = Self.obstacles[index]
        let (decision, steps) = Decision.explained(try facts(Self.obstacles[index...]))
        #expect(decision.outcome(.ios) == obstacle.outcome)
        #expect(steps.last?.rule == obstacle.rule)
        #expect(steps.last?.outcome == obstacle.outcome)
    }

    @Test("each rule rejects alone, and all rules before it pass", arguments: obstacles)
    func alone(obstacle: Obstacle) throws {
        let (decision, steps) = Decision.explained(try facts([obstacle]))
        #expect(decision.outcome(.ios) == obstacle.outcome)
        #expect(steps.last?.rule == obstacle.rule)
        #expect(steps.dropLast().allSatisfy { $0.outcome == nil || $0.rule == .email })
    }

    @Test("all rules with something to check are evaluated if none of them rejects")
    func allPass() throws {
        let (decision, steps) = Decision.explained(try facts([]))
        #expect(
            steps.map(\.rule) == [
                .expiry, .follow, .role, .master, .type, .topic, .email, .pushEnabled, .devices, .permission, .digest,
            ]
        )
        let slot = try at("2026-03-11T07:00:00Z")
        #expect(decision.outcome(.ios) == .wait(Wait(.digest, until: slot)))
        var due = try facts([])
        due.history.digest = due.now
        #expect(Decision.explained(due).steps.last?.rule == .quietHours)
        let morning = try at(DecisionSample.morning)
        #expect(Decision(due).outcome(.ios) == .wait(Wait(.quietHours, until: morning)))
    }

    @Test("every rule has an obstacle, except e-mail and time, which have separate tests")
    func complete() {
        let tested = Set(Self.obstacles.map(\.rule))
        #expect(Set(Rule.allCases).subtracting(tested) == [.email, .digest, .pause, .quietHours, .burst])
    }

    @Test("findings name their facts, and no secret")
    func findings() throws {
        for index in Self.obstacles.indices {
            for step in Decision.explained(try facts(Self.obstacles[index...])).steps {
                #expect(!step.finding.isEmpty)
                #expect(!step.finding.contains("token-") && !step.finding.contains("@"))
            }
        }
    }
}
