import AMQP
import Foundation
import IntegrationSupport
import Sandbox
import TestSupport
import Testing

extension Proofs {
    /// Deliveries that wait for their outlet cost a constant number of writes, keep their order and delay no other
    /// work.
    @Suite("Backlogs")
    struct BacklogProofTests {
        /// The interval beyond which the older of two messages goes first.
        ///
        /// At the small size the whole backlog lasts some seconds, so the interval is smaller too. New messages may
        /// still pass messages that have waited for a moment.
        private static let distance = Duration.seconds(Proof.isFull ? 10 : 4)
        private static let rowVersions = 4

        @Test("mails at a slow relay go out in their order, each written at most four times")
        func mails() async throws {
            let count = Proof.isFull ? 3_000 : 600
            let mails = "channel = 'email' AND state = 'delivered'"
            try await Self.expectOrder("mails at 100 ms", count, mails, "updated_at") { fixture in
                try await fixture.publish(
                    (0..<count).map { number in
                        fixture.message(
                            "drop.recipient.upserted",
                            #"{"userId":"u\#(number)","email":"u\#(number)@example.com"}"#
                        )
                    }
                )
                try await fixture.wait("the addresses are stored", count, "recipients")
                fixture.sandbox.setFaults([SandboxFault(.email, .delay, delay: .milliseconds(100))])
                return "drop.security"
            }
        }

        @Test("pushes beyond Expo's budget go out in their order, each written at most four times")
        func pushes() async throws {
            let count = Proof.isFull ? 100_000 : 12_000
            let users = Proof.isFull ? 1_000 : 100
            try await Self.expectOrder("pushes at 600/s", count, "state = 'accepted'", "sent_at") { fixture in
                try await fixture.register((0..<users).map { "u\($0)" }, at: "expo")
                return "drop.transaction_complete"
            }
        }

        /// Publishes `count` events of the type that `prepare` returns, spread over several seconds, and checks the
        /// results.
        private static func expectOrder(
            _ name: String,
            _ count: Int,
            _ condition: String,
            _ moment: String,
            _ prepare: @escaping @Sendable (BacklogFixture) async throws -> String
        ) async throws {
            try await BacklogFixture.with { fixture in
                let type = try await prepare(fixture)
                let idle = try await fixture.neighbours("idle", 100)
                let users = try await fixture.users()
                // The steps take at least three times the interval, however fast the events are consumed.
                let steps = Int(distance.components.seconds) * 3
                let began = ContinuousClock.now
                for step in 0..<steps {
                    let numbers = count * step / steps..<count * (step + 1) / steps
                    try await fixture.publish(
                        numbers.map { fixture.event("e\($0)", to: users[$0 % users.count], type) }
                    )
                    try await eventually("the next second comes") { .now - began >= .seconds(step + 1) }
                }
                try await fixture.wait("some wait for their outlet", 1, "deliveries WHERE outlet IS NOT NULL")
                let beside = try await fixture.neighbours("beside", 100)
                try await fixture.wait("all are sent", count, "deliveries WHERE \(condition)")
                let took = ContinuousClock.now - began
                let overtaken = try await fixture.overtaken(by: distance, at: moment, where: "d." + condition)
                let lines = try await fixture.stage.count("deliveries")
                let versions = try await fixture.rowVersions()
                let figures = "\(versions) row versions of \(lines) lines, \(overtaken) overtaken"
                Proof.report("backlog, \(count) \(name): \(took.inSeconds), \(figures)")
                Proof.report("another app's records: idle \(idle); during the backlog \(beside)")
                #expect(overtaken == 0)
                #expect(versions <= rowVersions * lines, "\(figures)")
            }
        }

        @Test("a due normal delivery elsewhere is pushed despite many urgent ones behind a breaker")
        func breaker() async throws {
            let count = Proof.isFull ? 200_000 : 2_000
            try await BacklogFixture.with { fixture in
                let users = (0..<100).map { "u\($0)" }
                try await fixture.register(users, at: "fcm")
                try await fixture.register(["ada"], at: "expo")
                try await fixture.publish([fixture.event("before", to: "ada")])
                try await fixture.wait("ada is reached", 1, "deliveries WHERE state = 'accepted'")
                let refusal = SandboxFault.Answer(status: 403, reason: "PERMISSION_DENIED")
                fixture.sandbox.setFaults([SandboxFault(.fcm, .answer(refusal))])
                for start in stride(from: 0, to: count, by: 1_000) {
                    try await fixture.publish(
                        (start..<start + 1_000).map { fixture.event("e\($0)", to: users[$0 % 100], "drop.security") }
                    )
                }
                let behind = "deliveries WHERE outlet = 'drop/fcm' AND urgency = 0"
                // One of them may be the breaker's probe.
                try await fixture.wait("they stand behind the breaker", count - 1, behind)
                _ = try await fixture.stage.owner.run(
                    """
                    UPDATE ledger SET state = 'w', reason = 'quiet-hours', sent_at = NULL, attempts = 0,
                        due_at = now()
                    WHERE person = (SELECT number FROM people WHERE user_id = 'ada')
                    """
                )
                let began = ContinuousClock.now
                let reached = "deliveries WHERE user_id = 'ada' AND state = 'accepted'"
                try await fixture.wait("ada is reached again", 1, reached)
                let took = (ContinuousClock.now - began).inSeconds
                Proof.report("due among \(count) urgent lines behind a breaker: pushed after \(took)")
                let waiting = try await fixture.stage.count(behind)
                #expect(waiting >= count - 1)
            }
        }

        @Test("two outlets that do not answer for a long time delay no record of another app")
        func slowOutlets() async throws {
            let count = Proof.isFull ? 3_000 : 1_200
            // Beyond the time limit of a request: however slow the machine is, no response arrives.
            let delay = Duration.seconds(30)
            try await BacklogFixture.with { fixture in
                try await fixture.register(["a"], at: "fcm")
                try await fixture.register(["b"], at: "expo")
                let ended = "deliveries WHERE state IN ('delivered', 'accepted')"
                let idle = try await fixture.neighbours("idle", 300)
                try await fixture.publish(fixture.events(count, "quick"))
                let quick = try await fixture.neighbours("quick", 100)
                try await fixture.wait("the deliveries that are answered immediately end", 2 * count, ended)
                fixture.sandbox.setFaults([
                    SandboxFault(.fcm, .delay, delay: delay), SandboxFault(.expo, .delay, delay: delay),
                ])
                try await fixture.publish(fixture.events(count, "slow"))
                let behind = try await fixture.neighbours("behind", 100)
                let beside = try await fixture.neighbours("beside", 300)
                // No response has arrived by then: only the space that is left in the lane let the records through.
                let answered = try await fixture.stage.count(ended)
                let recorded = try await fixture.stage.count("notifications WHERE app = 'drop'")
                Proof.report("another app's records: idle \(idle); while two outlets do not answer \(beside)")
                let flood = "another app's records behind \(2 * count) events"
                Proof.report("\(flood): of quick outlets \(quick); of slow ones \(behind)")
                #expect(answered == 2 * count)
                #expect(recorded > 2 * count)
                fixture.sandbox.setFaults([])
                try await fixture.wait("all of them end", 4 * count, ended)
            }
        }
    }
}

extension BacklogFixture {
    /// Returns `count` events for each of two users.
    fileprivate func events(_ count: Int, _ name: String) -> [OutgoingMessage] {
        (0..<count).flatMap { number in ["a", "b"].map { event("\(name)-\($0)\(number)", to: $0) } }
    }

    /// Returns the users with an address or a device.
    fileprivate func users() async throws -> [String] {
        try await stage.column("SELECT user_id FROM recipients UNION SELECT profile_id FROM push_subscriptions")
    }

    /// Returns the number of writes to the ledger, as counted by the server, which receives the counts within some
    /// seconds.
    fileprivate func rowVersions() async throws -> Int {
        // A server process reports its counts within 10 s, whatever the load of the host is.
        let reporting = Duration.seconds(12)
        var versions = (latest: 0, since: ContinuousClock.now)
        try await eventually("the server has counted all") {
            let rows = try await stage.owner.run(
                """
                SELECT n_tup_ins + n_tup_upd FROM pg_stat_user_tables
                WHERE schemaname = current_schema() AND relname = 'ledger'
                """
            )
            let count = Int(clamping: try rows.integer(0, 0))
            if count != versions.latest { versions = (count, .now) }
            return versions.since.duration(to: .now) > reporting
        }
        return versions.latest
    }
}
