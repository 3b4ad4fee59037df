import IntegrationSupport
import Sandbox
import TestSupport
import Testing

@Suite(
    "Mails with failures",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct MailTroubleTests {
    private static func mailbox(_ peer: ProviderPeer, _ user: String, _ address: String) async throws {
        try await peer.feed(user, #""email":"\#(address)""#, until: "r.email IS NOT NULL")
    }

    /// Returns the deliveries by mail as text: user, state, reason, attempts, sends with an unknown outcome.
    private static func lines(_ peer: ProviderPeer) async throws -> [String?] {
        try await peer.pipeline.servers.column(
            """
            SELECT concat_ws('|', user_id, state, reason, attempts, unknown_sends) FROM deliveries
            WHERE channel = 'email' ORDER BY user_id
            """
        )
    }

    /// Waits until a mail is deferred, and makes it due.
    private static func passTime(_ peer: ProviderPeer) async throws {
        try await peer.pipeline.wait(
            for: 1,
            "SELECT count(*) FROM deliveries WHERE channel = 'email' AND state = 'deferred' AND due_at > now()"
        )
        _ = try await peer.pipeline.servers.owner.run(
            "UPDATE deliveries SET due_at = now() WHERE channel = 'email'"
        )
    }

    private static func delivered(_ peer: ProviderPeer, _ count: Int) async throws {
        try await peer.pipeline.wait(
            for: count,
            "SELECT count(*) FROM deliveries WHERE channel = 'email' AND state = 'delivered'"
        )
    }

    @Test("a mail to an unknown mailbox fails without a dead letter, and the other mails are sent")
    func unknownMailbox() async throws {
        try await ProviderPeer.run { peer in
            try await Self.mailbox(peer, "kari", "kari@example.com")
            try await Self.mailbox(peer, "ola", "unknown-ola@example.com")
            try await peer.publish(["e1"], to: ["kari", "ola"], type: "security")
            try await peer.waitUntilSettled(4)
            #expect(
                try await Self.lines(peer) == ["kari|delivered|1|0", "ola|failed|mailbox-unknown|1|0"]
            )
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM breakers") == 0)
        }
    }

    @Test("a mail that the relay rejects permanently is given up with the relay's response")
    func refused() async throws {
        try await ProviderPeer.run { peer in
            try await Self.mailbox(peer, "kari", "spam-kari@example.com")
            try await peer.publish(["e1"], to: ["kari"], type: "security")
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'payload-refused'"
            )
            try await peer.waitUntilSettled(2)
            #expect(try await Self.lines(peer) == ["kari|failed|payload-refused|1|0"])
            let letter = try await peer.pipeline.servers.column(
                "SELECT concat_ws('|', provider, error, event_id, user_id) FROM dead_letters"
            )
            #expect(letter == ["email|email said refused-by-policy|e1|kari"])
        }
    }

    @Test("a mail that the relay cannot accept now is retried, and given up at the retry limit")
    func retried() async throws {
        try await ProviderPeer.run { peer in
            let later = SandboxFault(.email, .answer(.init(status: 451, reason: "4.3.0 Later"))).inDialogue(at: .rcpt)
            peer.sandbox.setFaults([later.limited(count: 1)])
            try await Self.mailbox(peer, "kari", "kari@example.com")
            try await peer.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(peer)
            try await Self.delivered(peer, 1)
            #expect(try await Self.lines(peer) == ["kari|delivered|2|0"])
            try await Self.mailbox(peer, "ola", "grey-ola@example.com")
            try await peer.publish(["e2"], to: ["ola"], type: "security")
            try await Self.passTime(peer)
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            try await peer.waitUntilSettled(4)
            #expect(try await Self.lines(peer) == ["kari|delivered|2|0", "ola|failed|attempts-exhausted|2|0"])
        }
    }

    @Test(
        "a relay that rejects the password opens only the breaker of mails: they wait and use no attempt"
    )
    func wrongPassword() async throws {
        try await ProviderPeer.run { peer in
            let no = SandboxFault(.email, .answer(.init(status: 535, reason: "5.7.8 No"))).inDialogue(at: .auth)
            peer.sandbox.setFaults([no])
            let users = (0..<8).map { "u\($0)" }
            for user in users { try await Self.mailbox(peer, user, "\(user)@example.com") }
            try await peer.register([("u0", "t0")])
            try await peer.publish(["e1"], to: users, type: "security")
            let pipeline = peer.pipeline
            try await pipeline.wait(for: 1, "SELECT count(*) FROM breakers WHERE failures >= 1")
            #expect(
                try await pipeline.servers.column("SELECT concat_ws('|', provider, reason) FROM breakers") == [
                    "email|authentication-refused"
                ]
            )
            // The answers to the others may be in flight when the first one has opened the breaker.
            try await pipeline.wait(
                for: 8,
                "SELECT count(*) FROM deliveries WHERE channel = 'email' AND attempts = 0 AND reason = 'breaker'"
            )
            let pushes = "SELECT count(*) FROM deliveries WHERE channel = 'push' AND state = 'delivered'"
            #expect(try await pipeline.servers.count(pushes) == 1)
            peer.sandbox.setFaults([])
            try await Self.delivered(peer, 8)
            #expect(try await Self.lines(peer) == users.map { "\($0)|delivered|1|0" })
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
            try await pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
            #expect(peer.sandbox.count(.email, by: .tag).counts.values.allSatisfy { $0 == 1 })
        }
    }

    @Test("a lost connection after the content counts as an unknown outcome, and the repeat has the same Message-ID")
    func unknownOutcome() async throws {
        try await ProviderPeer.run { peer in
            peer.sandbox.setFaults([SandboxFault(.email, .drop).limited(count: 1)])
            try await Self.mailbox(peer, "kari", "kari@example.com")
            try await peer.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(peer)
            try await Self.delivered(peer, 1)
            #expect(try await Self.lines(peer) == ["kari|delivered|2|1"])
            let id = try #require(
                try await peer.pipeline.servers.column("SELECT id FROM notifications").first ?? nil
            )
            #expect(peer.sandbox.count(.email, by: .tag).counts == ["<\(id)@drop.example>": 2])
            #expect(peer.repeatedSends == 1)
        }
    }

    @Test("a repeat is counted once, however often the relay defers it before accepting it")
    func refusedRepeat() async throws {
        let catalogs = try ServerFixture.shipped(
            "drop",
            replacing: "    security: {",
            with: "    security: { retryLimit: 5,"
        )
        try await ProviderPeer.run(catalogs: catalogs) { peer in
            let busy = SandboxFault(.email, .answer(.init(status: 451)))
            peer.sandbox.setFaults([
                SandboxFault(.email, .drop).limited(count: 1), busy.limited(count: 1),
            ])
            try await Self.mailbox(peer, "kari", "kari@example.com")
            try await peer.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(peer)
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE channel = 'email' AND attempts = 2"
            )
            #expect(peer.repeatedSends == 0)
            try await Self.passTime(peer)
            try await Self.delivered(peer, 1)
            #expect(try await Self.lines(peer) == ["kari|delivered|3|1"])
            #expect(peer.repeatedSends == 1)
        }
    }
}
