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
    private static func mailbox(_ counterpart: Counterpart, _ user: String, _ address: String) async throws {
        try await counterpart.feed(user, #""email":"\#(address)""#, until: "r.email IS NOT NULL")
    }

    /// Returns the deliveries by mail as text: user, state, reason, attempts, sends with an unknown outcome.
    private static func lines(_ counterpart: Counterpart) async throws -> [String?] {
        try await counterpart.pipeline.servers.column(
            """
            SELECT concat_ws('|', user_id, state, reason, attempts, unknown_sends) FROM deliveries
            WHERE channel = 'email' ORDER BY user_id
            """
        )
    }

    /// Waits until a mail is deferred, and makes it due.
    private static func passTime(_ counterpart: Counterpart) async throws {
        try await counterpart.pipeline.wait(
            for: 1,
            "SELECT count(*) FROM deliveries WHERE channel = 'email' AND state = 'deferred' AND due_at > now()"
        )
        _ = try await counterpart.pipeline.servers.owner.run(
            "UPDATE deliveries SET due_at = now() WHERE channel = 'email'"
        )
    }

    private static func delivered(_ counterpart: Counterpart, _ count: Int) async throws {
        try await counterpart.pipeline.wait(
            for: count,
            "SELECT count(*) FROM deliveries WHERE channel = 'email' AND state = 'delivered'"
        )
    }

    @Test("a mail to an unknown mailbox fails without a dead letter, and the other mails are sent")
    func unknownMailbox() async throws {
        try await Counterpart.run { counterpart in
            try await Self.mailbox(counterpart, "kari", "kari@example.com")
            try await Self.mailbox(counterpart, "ola", "unknown-ola@example.com")
            try await counterpart.publish(["e1"], to: ["kari", "ola"], type: "security")
            try await counterpart.waitUntilSettled(4)
            #expect(
                try await Self.lines(counterpart) == ["kari|delivered|1|0", "ola|failed|mailbox-unknown|1|0"]
            )
            #expect(try await counterpart.pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
            #expect(try await counterpart.pipeline.servers.count("SELECT count(*) FROM breakers") == 0)
        }
    }

    @Test("a mail that the relay rejects permanently is given up with the relay's response")
    func refused() async throws {
        try await Counterpart.run { counterpart in
            try await Self.mailbox(counterpart, "kari", "spam-kari@example.com")
            try await counterpart.publish(["e1"], to: ["kari"], type: "security")
            try await counterpart.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'payload-refused'"
            )
            try await counterpart.waitUntilSettled(2)
            #expect(try await Self.lines(counterpart) == ["kari|failed|payload-refused|1|0"])
            let letter = try await counterpart.pipeline.servers.column(
                "SELECT concat_ws('|', provider, error, event_id, user_id) FROM dead_letters"
            )
            #expect(letter == ["email|email said refused-by-policy|e1|kari"])
        }
    }

    @Test("a mail that the relay cannot accept now is retried, and given up at the retry limit")
    func retried() async throws {
        try await Counterpart.run { counterpart in
            let later = SandboxFault(.email, .answer(.init(status: 451, reason: "4.3.0 Later"))).inDialogue(at: .rcpt)
            counterpart.sandbox.setFaults([later.limited(count: 1)])
            try await Self.mailbox(counterpart, "kari", "kari@example.com")
            try await counterpart.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(counterpart)
            try await Self.delivered(counterpart, 1)
            #expect(try await Self.lines(counterpart) == ["kari|delivered|2|0"])
            try await Self.mailbox(counterpart, "ola", "grey-ola@example.com")
            try await counterpart.publish(["e2"], to: ["ola"], type: "security")
            try await Self.passTime(counterpart)
            try await counterpart.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            try await counterpart.waitUntilSettled(4)
            #expect(try await Self.lines(counterpart) == ["kari|delivered|2|0", "ola|failed|attempts-exhausted|2|0"])
        }
    }

    @Test(
        "a relay that rejects the password opens only the breaker of mails: they wait and use no attempt"
    )
    func wrongPassword() async throws {
        try await Counterpart.run { counterpart in
            let no = SandboxFault(.email, .answer(.init(status: 535, reason: "5.7.8 No"))).inDialogue(at: .auth)
            counterpart.sandbox.setFaults([no])
            let users = (0..<8).map { "u\($0)" }
            for user in users { try await Self.mailbox(counterpart, user, "\(user)@example.com") }
            try await counterpart.register([("u0", "t0")])
            try await counterpart.publish(["e1"], to: users, type: "security")
            let pipeline = counterpart.pipeline
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
            counterpart.sandbox.setFaults([])
            try await Self.delivered(counterpart, 8)
            #expect(try await Self.lines(counterpart) == users.map { "\($0)|delivered|1|0" })
            #expect(try await pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
            try await pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
            #expect(counterpart.sandbox.count(.email, by: .tag).counts.values.allSatisfy { $0 == 1 })
        }
    }

    @Test("a lost connection after the content counts as an unknown outcome, and the repeat has the same Message-ID")
    func unknownOutcome() async throws {
        try await Counterpart.run { counterpart in
            counterpart.sandbox.setFaults([SandboxFault(.email, .drop).limited(count: 1)])
            try await Self.mailbox(counterpart, "kari", "kari@example.com")
            try await counterpart.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(counterpart)
            try await Self.delivered(counterpart, 1)
            #expect(try await Self.lines(counterpart) == ["kari|delivered|2|1"])
            let id = try #require(
                try await counterpart.pipeline.servers.column("SELECT id FROM notifications").first ?? nil
            )
            #expect(counterpart.sandbox.count(.email, by: .tag).counts == ["<\(id)@drop.example>": 2])
            #expect(counterpart.repeatedSends == 1)
        }
    }

    @Test("a repeat is counted once, however often the relay defers it before accepting it")
    func refusedRepeat() async throws {
        let catalogs = try ServerFixture.shipped(
            "drop",
            replacing: "    security: {",
            with: "    security: { retryLimit: 5,"
        )
        try await Counterpart.run(catalogs: catalogs) { counterpart in
            let busy = SandboxFault(.email, .answer(.init(status: 451)))
            counterpart.sandbox.setFaults([
                SandboxFault(.email, .drop).limited(count: 1), busy.limited(count: 1),
            ])
            try await Self.mailbox(counterpart, "kari", "kari@example.com")
            try await counterpart.publish(["e1"], to: ["kari"], type: "security")
            try await Self.passTime(counterpart)
            try await counterpart.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE channel = 'email' AND attempts = 2"
            )
            #expect(counterpart.repeatedSends == 0)
            try await Self.passTime(counterpart)
            try await Self.delivered(counterpart, 1)
            #expect(try await Self.lines(counterpart) == ["kari|delivered|3|1"])
            #expect(counterpart.repeatedSends == 1)
        }
    }
}
