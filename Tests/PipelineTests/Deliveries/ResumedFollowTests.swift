import BellhopRules
import IntegrationSupport
import Sandbox
import TestSupport
import Testing

/// Deliveries of a topic's event that wait: the user's follow is evaluated again when they are resumed.
@Suite(
    "Resumes of a topic's deliveries",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct ResumedFollowTests {
    /// Each user's current follow, and the outcome of the delivery that waited.
    private static let users: [(name: String, follow: String?, fate: String)] = [
        ("gone", nil, "suppressed|unfollowed"), ("left", "END", "suppressed|unfollowed"),
        ("muted", #""role":"owner","muted":true"#, "suppressed|topic-muted"),
        ("observer", #""role":"observer""#, "suppressed|not-addressed"),
        ("other", #""role":"owner","token":"another""#, "suppressed|other-device"),
        ("owner", #""role":"owner""#, "delivered"),
        ("this", #""role":"owner","token":"device-this""#, "delivered"),
    ]

    @Test("a resumed delivery is sent only if the user still follows, unmuted, in an addressed role, with this device")
    func anew() async throws {
        try await ProviderPeer.run(app: "safe") { peer in
            let pipeline = peer.pipeline
            try await peer.register(Self.users.map { ($0.name, "device-\($0.name)") })
            let count = Self.users.count
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: count)])
            try await peer.publish(["e1"], to: Self.users.map(\.name), type: "CONFIRMATION_REQUEST")
            try await pipeline.wait(
                for: count,
                "SELECT count(*) FROM deliveries WHERE state = 'retrying' AND attempts = 1"
            )
            _ = try await pipeline.servers.owner.run(#"UPDATE inbox SET extras = '{"topic":"safe:1:0xab"}'"#, [])
            try await Self.follow(pipeline)
            _ = try await pipeline.servers.owner.run("UPDATE ledger SET state = 'w', due_at = now()", [])
            try await peer.waitUntilSettled(count)
            let ledger = try await pipeline.servers.column(
                "SELECT concat_ws('|', user_id, state, reason) FROM deliveries ORDER BY user_id"
            )
            #expect(ledger == Self.users.map { "\($0.name)|\($0.fate)" })
            // A retry without open deliveries does nothing.
            #expect(try await pipeline.servers.count("SELECT count(*) FROM follows") == count - 1)
        }
    }

    private static func follow(_ pipeline: PipelineFixture) async throws {
        for (name, follow, _) in users {
            guard let follow else { continue }
            let topic = #""userId":"\#(name)","topic":"safe:1:0xAB""#
            let words = follow == "END" ? "" : ",\(follow)"
            let kind = follow == "END" ? "removed" : "added"
            try await pipeline.publish([pipeline.event("{\(topic)\(words)}", key: "safe.follow.\(kind)")])
        }
        try await pipeline.wait(for: users.count - 1, "SELECT count(*) FROM follows WHERE topic = 'safe:1:0xab'")
    }
}
