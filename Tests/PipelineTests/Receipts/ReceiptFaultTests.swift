import IntegrationSupport
import Pipeline
import Sandbox
import TestSupport
import Testing

@Suite(
    "Receipts that report a configuration error",
    .limitedConcurrency,
    .enabled(if: serversAreThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ReceiptFaultTests {
    /// Receipts are requested only by the test.
    private static let byHand = ReceiptPolicy()

    /// Publishes one event to users with these devices, lets the test change the ledger, and requests receipts.
    ///
    /// It waits until Expo has accepted all pushes before the change.
    private static func ask(
        _ peer: ProviderPeer,
        _ names: [String],
        events: [String] = ["e1"],
        before change: String = "SELECT"
    ) async throws {
        try await peer.register(names.map { ("u-\($0)", $0) })
        try await peer.publish(events, to: names.map { "u-\($0)" })
        let count = names.count * events.count
        try await peer.pipeline.wait(for: count, "SELECT count(*) FROM deliveries WHERE state = 'accepted'")
        let owner = peer.pipeline.servers.owner
        _ = try await owner.run(.init(change), [])
        _ = try await owner.run("UPDATE deliveries SET due_at = now()", [])
        try await peer.pipeline.wait(
            for: count,
            "SELECT count(*) FROM deliveries WHERE state NOT IN ('accepted', 'sending')"
        )
    }

    private static func states(_ peer: ProviderPeer) async throws -> [String?] {
        try await peer.pipeline.servers.column(
            "SELECT concat_ws('|', state, reason, count(*)) FROM deliveries GROUP BY state, reason ORDER BY state"
        )
    }

    private static func breakers(_ peer: ProviderPeer) async throws -> [String?] {
        try await peer.pipeline.servers.column("SELECT concat_ws('|', provider, platform, reason) FROM breakers")
    }

    private static func revoked(_ peer: ProviderPeer) async throws -> Int {
        Int(
            try await peer.pipeline.servers.count(
                "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            )
        )
    }

    @Test("no device is revoked in a mass failure, and its deliveries wait for the breaker that opens")
    func massDeath() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            try await Self.ask(
                peer,
                (0..<60).map { "gone-\($0)" },
                before: "UPDATE deliveries SET attempts = 2 WHERE user_id = 'u-gone-0'"
            )
            let states = try await Self.states(peer)
            #expect(states == ["deferred|breaker|59", "failed|attempts-exhausted|1"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE user_id = 'u-gone-0'")
            let breakers = try await Self.breakers(peer)
            #expect(breakers == ["expo||mass-death"])
            let revoked = try await Self.revoked(peer)
            #expect(revoked == 0)
        }
    }

    @Test("sixty rows of the ledger that were sent in one push are one gone device and no mass failure")
    func oneTicket() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            try await Self.ask(
                peer,
                ["gone-1"],
                events: (0..<60).map { "e\($0)" },
                before: "UPDATE deliveries SET provider_message_id = (SELECT min(provider_message_id) FROM deliveries)"
            )
            let states = try await Self.states(peer)
            #expect(states == ["failed|DeviceNotRegistered|60"])
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'DeviceNotRegistered'"
            )
            let breakers = try await Self.breakers(peer)
            #expect(breakers.isEmpty)
        }
    }

    @Test("credentials that Expo lacks open the breaker, and deliveries at the retry limit become dead letters")
    func refused() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            try await Self.ask(
                peer,
                (0..<6).map { "mismatch-\($0)" },
                before: "UPDATE deliveries SET attempts = 2 WHERE user_id = 'u-mismatch-0'"
            )
            let states = try await Self.states(peer)
            #expect(states == ["deferred|breaker|5", "failed|attempts-exhausted|1"])
            let breakers = try await Self.breakers(peer)
            #expect(breakers == ["expo||MismatchSenderId"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            let letters = try await peer.pipeline.servers.column(
                "SELECT concat_ws('|', stage, reason, error, user_id, attempts) FROM dead_letters"
            )
            #expect(letters == ["receipt|attempts-exhausted|expo said MismatchSenderId|u-mismatch-0|2"])
        }
    }

    @Test("missing credentials of a few devices among many open no breaker")
    func refusedForFew() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            let names = (0..<5).map { "mismatch-\($0)" } + (0..<5).map { "well-\($0)" }
            try await Self.ask(peer, names)
            let states = try await Self.states(peer)
            #expect(states == ["deferred|breaker|5", "delivered|5"])
            let breakers = try await Self.breakers(peer)
            #expect(breakers.isEmpty)
        }
    }
}
