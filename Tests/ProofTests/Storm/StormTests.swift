import Sandbox
import TestSupport
import Testing

/// All faults of providers at the same time, while Web Push and the mail relay work.
@Suite("Fault storm", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct StormTests {
    private static let steps = Proof.isFull ? 200 : 25

    private static let weather = [
        SandboxFault(.fcm, .answer(.init(status: 503))),
        SandboxFault(.expo, .answer(.init(status: 429, reason: "TOO_MANY_REQUESTS", retryAfter: "5"))),
        SandboxFault(.apns, .answer(.init(status: 410, reason: "Unregistered"))),
    ]

    @Test(
        "503, 429 and 410 from three providers leave the others as fast as before, and finally all is delivered"
    )
    func prove() async throws {
        try await StormFixture.with { fixture in
            let few = StormFixture.Way.few
            // The first messages open the connections, which is not to be measured.
            try await fixture.gust("warm", users: 1)
            _ = try await fixture.measure("warm", steps: 1)
            try await fixture.gust("calm", users: few)
            let before = try await fixture.measure("before", steps: Self.steps)
            fixture.sandbox.setFaults(Self.weather)
            try await fixture.gust("storm", users: StormFixture.Way.many)
            let during = try await fixture.measure("during", steps: Self.steps)
            try await expectTrouble(fixture)
            fixture.sandbox.setFaults([])
            try await fixture.settle(1 + few + StormFixture.Way.many)
            try await fixture.gust("after", users: few)
            let after = try await fixture.measure("after", steps: Self.steps)
            try await fixture.settle(1 + 2 * few + StormFixture.Way.many)
            expectQuick(before: before, during: during, after: after)
            try await expectTruth(fixture)
            for role in [fixture.worker, fixture.scheduler] { try await role.drain() }
        }
    }

    /// Checks that each fault has had its effect.
    private func expectTrouble(_ fixture: StormFixture) async throws {
        let stage = fixture.stage
        try await eventually("the mass failure of devices is detected") {
            try await stage.count("breakers WHERE provider = 'apns' AND reason = 'mass-death'") == 1
        }
        try await eventually("what was refused waits") {
            let refused = try await stage.count("deliveries WHERE reason = 'UNAVAILABLE' AND attempts > 0")
            let rests = try await stage.count("deliveries WHERE reason IN ('TOO_MANY_REQUESTS', 'provider-rests')")
            let held = try await stage.count("deliveries WHERE reason = 'breaker'")
            return refused > 0 && rests > 0 && held > 0
        }
        #expect(try await stage.count("breakers") == 1)
    }

    private func expectQuick(before: [Duration], during: [Duration], after: [Duration]) {
        let (before, during, after) = (Self.median(before), Self.median(during), Self.median(after))
        // Measured before and after, since other tests may start and end meanwhile.
        let ratio = (during / max(before, after) * 100).rounded() / 100
        let figures =
            "push and mail of the healthy ones, medians: before \(Self.text(before)), during \(Self.text(during)), "
            + "after \(Self.text(after)), ratio \(ratio)"
        Proof.report("fault storm: \(figures)")
        #expect(ratio < 5, "\(figures)")
    }

    private func expectTruth(_ fixture: StormFixture) async throws {
        let stage = fixture.stage
        let (few, many) = (StormFixture.Way.few, StormFixture.Way.many)
        for way in StormFixture.Way.allCases {
            let sizes = [("warm", 1), ("calm", few), ("storm", many), ("after", few)]
            let expected = sizes.flatMap { id, count in way.users(count).map { "\(id)-\(way.rawValue)|\($0)" } }
            expectEven(try await fixture.balance(way.provider, expected: Set(expected)), "fault storm, \(way.rawValue)")
        }
        let names =
            ["warm-0"] + ["before", "during", "after"].flatMap { name in (0..<Self.steps).map { "\(name)-\($0)" } }
        for provider in [ProviderName.webpush, .email] {
            let balance = try await fixture.balance(provider, expected: Set(names.map { "\($0)|ada" }))
            expectEven(balance, "fault storm, \(provider.rawValue)")
            #expect(balance.hasOneRequestForEachAttempt, "\(balance)")
        }
        // A 410 for all devices of a provider does not count against any delivery.
        #expect(try await stage.count("deliveries d WHERE attempts <> 1 AND \(Self.isOfAPNs)") == 0)
        #expect(try await stage.count("push_subscriptions WHERE revoked_at IS NOT NULL") == 0)
        #expect(try await stage.count("deliveries WHERE unknown_sends > 0") == 0)
        #expect(try await stage.count("dead_letters") == 0)
        #expect(try await stage.count("breakers") == 0)
    }

    private static let isOfAPNs = """
        EXISTS (SELECT FROM push_subscriptions s WHERE s.app = d.app AND s.profile_id = d.user_id AND s.id = d.target
                AND s.provider = 'apns')
        """

    private static func median(_ spans: [Duration]) -> Duration {
        let sorted = spans.sorted()
        return sorted.isEmpty ? .zero : sorted[sorted.count / 2]
    }

    private static func text(_ span: Duration) -> String {
        "\((span / .milliseconds(1)).rounded()) ms"
    }
}
