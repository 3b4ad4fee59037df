import AMQP
import BellhopRules
import IntegrationSupport
import Push
import Synchronization
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

@Suite(
    "Holds",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct HoldTests {
    private static let delivered = "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"
    private static let held = "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND reason = 'held'"
    private static let ada = ActingOperator(name: "ada", because: "the wrong campaign")

    /// Runs a body together with a worker whose provider answers immediately or when the test permits it.
    private static func run(
        _ servers: ServerFixture,
        _ sender: GatedSender,
        _ body: @escaping @Sendable (PipelineFixture) async throws -> Void
    ) async throws {
        let app = try #require(AppID(validating: "drop"))
        let outfit = PipelineFixture.Outfit(senders: [app: [.fcm: sender]])
        try await PipelineFixture.on(servers, outfit: outfit) { pipeline in
            do {
                try await body(pipeline)
            } catch {
                sender.open()
                throw error
            }
            sender.open()
        }
    }

    /// Runs a body in the same way on a new fixture, with `count` users of one device each.
    private static func run(
        _ sender: GatedSender,
        users count: Int,
        _ body: @escaping @Sendable (PipelineFixture, [String]) async throws -> Void
    ) async throws {
        try await ServerFixture.withTopology { servers in
            try await run(servers, sender) { pipeline in
                try await register(pipeline, users(count))
                try await body(pipeline, users(count))
            }
        }
    }

    private static func scope(_ type: String? = nil, provider: String? = nil) throws -> HoldScope {
        let app = try #require(AppID(validating: "drop"))
        return HoldScope(app: app, type: type.flatMap(EventType.init(validating:)), provider: provider)
    }

    /// Places a hold and returns its number when every worker applies it.
    private static func hold(_ pipeline: PipelineFixture, _ scope: HoldScope) async throws -> Int64 {
        let placing = try await HoldAdmin(pool: pipeline.servers.owner).place(scope, by: ada)
        guard case .placed(let hold) = placing else { throw ServerFixtureError("not placed: \(placing)") }
        try await known(pipeline, scope, isHeld: true)
        return hold.number
    }

    private static func release(_ pipeline: PipelineFixture, _ number: Int64) async throws {
        let hold = try await HoldAdmin(pool: pipeline.servers.owner).release(number, by: ada)
        let scope = try #require(hold?.scope)
        try await known(pipeline, scope, isHeld: false)
    }

    private static func known(_ pipeline: PipelineFixture, _ scope: HoldScope, isHeld: Bool) async throws {
        let labels = #"app="drop",type="\#(scope.type?.text ?? "")",provider="\#(scope.provider ?? "")""#
        try await eventually("the worker knows of the hold, or of its end") {
            pipeline.metrics.text().contains("bellhop_holds{\(labels)} \(isHeld ? 1 : 0)\n")
        }
    }

    private static func register(_ pipeline: PipelineFixture, _ users: [String]) async throws {
        try await pipeline.publish(
            users.map { user in
                let device = #""token":"\#(user)","platform":"android","provider":"fcm""#
                return pipeline.event(#"{"userId":"\#(user)",\#(device)}"#, key: "drop.subscription.upserted")
            }
        )
        try await pipeline.wait(for: users.count, "SELECT count(*) FROM push_subscriptions")
    }

    private static func publish(
        _ pipeline: PipelineFixture,
        to users: [String],
        type: String = "transaction_complete",
        more: String = ""
    ) async throws {
        try await pipeline.publish(
            users.map { user in
                pipeline.event(
                    #"{"id":"\#(type)-\#(user)","to":{"user":"\#(user)"},"title":"Hei","body":"på deg"\#(more)}"#,
                    key: "drop.\(type)"
                )
            }
        )
    }

    private static func users(_ count: Int) -> [String] { (0..<count).map { "u\($0)" } }

    @Test("held deliveries are recorded and wait unchanged, other types are sent, and a release sends each once")
    func type() async throws {
        let sender = GatedSender(isOpen: true)
        try await Self.run(sender, users: 20) { pipeline, users in
            let number = try await Self.hold(pipeline, try Self.scope("transaction_complete"))
            try await Self.publish(pipeline, to: users)
            try await pipeline.wait(for: 20, Self.held)
            try await Self.publish(pipeline, to: ["u0", "u1"], type: "security")
            try await pipeline.wait(for: 2, Self.delivered)
            let recorded = try await pipeline.servers.count("SELECT count(*) FROM notifications")
            let backlogs = try await pipeline.servers.column(
                "SELECT DISTINCT outlet FROM deliveries WHERE outlet IS NOT NULL"
            )
            let written = try await pipeline.servers.column(
                "SELECT max(updated_at)::text FROM deliveries WHERE reason = 'held'"
            )
            #expect(recorded == 22)
            #expect(backlogs == ["drop/fcm//transaction_complete"])
            // Several polls of the puller, none of which may write.
            try await Self.publish(pipeline, to: ["u2"], type: "security")
            try await pipeline.wait(for: 3, Self.delivered)
            let stillWritten = try await pipeline.servers.column(
                "SELECT max(updated_at)::text FROM deliveries WHERE reason = 'held'"
            )
            #expect(stillWritten == written)
            #expect(sender.tokens.count == 3)
            try await Self.release(pipeline, number)
            try await pipeline.wait(for: 23, Self.delivered)
            #expect(sender.tokens.count == 23)
            let acts = try await pipeline.servers.column("SELECT act || ' ' || because FROM audit ORDER BY number")
            #expect(acts == ["hold-add the wrong campaign", "hold-release the wrong campaign"])
        }
    }

    @Test("a hold on a provider stops the backlog that waits for it, and a release sends it in order")
    func provider() async throws {
        let sender = GatedSender(window: 1)
        try await Self.run(sender, users: 12) { pipeline, users in
            for user in users {
                let known = try await pipeline.servers.count("SELECT count(*) FROM notifications")
                try await Self.publish(pipeline, to: [user])
                try await pipeline.wait(for: known + 1, "SELECT count(*) FROM notifications")
            }
            let waiting = "SELECT count(*) FROM deliveries WHERE outlet = 'drop/fcm'"
            try await pipeline.wait(for: 10, waiting)
            let number = try await Self.hold(pipeline, try Self.scope(provider: "fcm"))
            sender.open()
            try await pipeline.wait(for: 2, Self.delivered)
            try await Self.publish(pipeline, to: ["u0"], type: "security")
            try await pipeline.wait(for: 11, waiting)
            #expect(sender.tokens.count == 2)
            try await Self.release(pipeline, number)
            try await pipeline.wait(for: 13, Self.delivered)
            // The urgent one first, then the others in the order of their records; two may be in flight at a time.
            let others = users.filter { !sender.tokens.prefix(2).contains($0) }
            let released = Array(sender.tokens.dropFirst(2))
            #expect(released.sorted() == (["u0"] + others).sorted())
            #expect(released.prefix(2).contains("u0"))
            for (place, user) in others.enumerated() {
                let came = released.lastIndex(of: user) ?? 0
                #expect(abs(came - 1 - place) <= 2, "\(user) of \(released)")
            }
        }
    }

    @Test("a hold on a type takes its deliveries out of a mixed backlog, and the other types are sent")
    func among() async throws {
        let sender = GatedSender(window: 1)
        try await Self.run(sender, users: 10) { pipeline, users in
            try await Self.publish(pipeline, to: users)
            try await pipeline.wait(for: 10, "SELECT count(*) FROM notifications")
            try await Self.publish(pipeline, to: users, type: "qr_payment")
            try await pipeline.wait(for: 18, "SELECT count(*) FROM deliveries WHERE outlet = 'drop/fcm'")
            let number = try await Self.hold(pipeline, try Self.scope("transaction_complete"))
            sender.open()
            try await pipeline.wait(for: 12, Self.delivered)
            try await pipeline.wait(for: 8, Self.held)
            #expect(sender.tokens.count == 12)
            try await Self.release(pipeline, number)
            try await pipeline.wait(for: 20, Self.delivered)
            #expect(sender.tokens.count == 20)
        }
    }

    @Test("a delivery that expires during a hold ends as expired, with the hold as the reason")
    func expiry() async throws {
        let sender = GatedSender(isOpen: true)
        try await Self.run(sender, users: 2) { pipeline, _ in
            let number = try await Self.hold(pipeline, try Self.scope())
            let soon = Timestamp(clamping: DeadLetterSamples.now.microseconds + 3_600_000_000)
            try await Self.publish(pipeline, to: ["u0"], more: #","expiresAt":"\#(soon)""#)
            try await Self.publish(pipeline, to: ["u1"])
            try await pipeline.wait(for: 2, Self.held)
            let over = try await pipeline.servers.owner.run(
                """
                UPDATE inbox SET extras = jsonb_set(extras::jsonb, '{expiresAt}', '"2020-01-01T00:00:00Z"')::text
                WHERE extras::jsonb ? 'expiresAt'
                """
            )
            #expect(over.affectedCount == 1)
            try await Self.release(pipeline, number)
            try await pipeline.wait(for: 1, Self.delivered)
            let end = "SELECT count(*) FROM deliveries WHERE state = 'expired' AND reason = 'expired-while-held'"
            try await pipeline.wait(for: 1, end)
            #expect(sender.tokens == ["u1"])
        }
    }

    @Test("discarded deliveries are never sent, stay in the app, and are exactly those of the selection")
    func discard() async throws {
        let sender = GatedSender(isOpen: true)
        try await Self.run(sender, users: 8) { pipeline, users in
            let scope = try Self.scope()
            let number = try await Self.hold(pipeline, scope)
            try await Self.publish(pipeline, to: users)
            try await Self.publish(pipeline, to: ["u0"], type: "security")
            try await pipeline.wait(for: 9, Self.held)
            let admin = HoldAdmin(pool: pipeline.servers.owner)
            let one = HoldSelection(scope, of: number, event: EventID(validating: "transaction_complete-u3"))
            let single = try await admin.count(one)
            #expect(single.deliveries == 1)
            let gone = try await admin.discard(one, agreed: 1, by: Self.ada, pausing: .zero)
            #expect(gone == DiscardResult(done: 1, left: 0, isHeld: true))
            var selection = HoldSelection(try Self.scope("transaction_complete"), of: number)
            let count = try await admin.count(selection)
            #expect(count.deliveries == 7)
            #expect(count.users == 7)
            selection.recordedBy = count.asOf
            let fewer = try await admin.discard(selection, agreed: 2, by: Self.ada, pausing: .zero)
            let rest = try await admin.discard(selection, agreed: 7, by: Self.ada, pausing: .zero)
            #expect(fewer == DiscardResult(done: 2, left: 5, isHeld: true))
            #expect(rest == DiscardResult(done: 5, left: 0, isHeld: true))
            let acts = try await pipeline.servers.column(
                """
                SELECT act || ' ' || items || ' ' || (filter ->> 'hold') FROM audit
                WHERE act LIKE 'hold-discard%' ORDER BY number DESC LIMIT 2
                """
            )
            #expect(acts == ["hold-discarded 5 \(number)", "hold-discard 7 \(number)"])
            try await Self.release(pipeline, number)
            try await pipeline.wait(for: 1, Self.delivered)
            #expect(sender.tokens == ["u0"])
            let ended = try await pipeline.servers.count(
                "SELECT count(*) FROM deliveries WHERE state = 'suppressed' AND reason = 'discarded' AND outlet IS NULL"
            )
            let recorded = try await pipeline.servers.count("SELECT count(*) FROM notifications")
            #expect(ended == 8)
            #expect(recorded == 9)
        }
    }

    @Test("what a killed worker had claimed of a discarded event ends as discarded, also after the release")
    func discardOfClaims() async throws {
        let sender = GatedSender(isOpen: true)
        try await Self.run(sender, users: 4) { pipeline, users in
            let (servers, scope) = (pipeline.servers, try Self.scope("transaction_complete"))
            let number = try await Self.hold(pipeline, scope)
            try await Self.publish(pipeline, to: users)
            try await pipeline.wait(for: 4, Self.held)
            // One waits, and a killed worker holds one of the event, one of another, and one that is recorded later.
            for (user, event) in [("u0", "campaign"), ("u1", "campaign"), ("u3", "campaign"), ("u2", "other")] {
                _ = try await servers.owner.run(
                    "UPDATE inbox SET event_id = $1 WHERE person = (SELECT number FROM people WHERE user_id = $2)",
                    [.text(event), .text(user)]
                )
            }
            _ = try await servers.owner.run(
                """
                UPDATE deliveries SET state = 'sending', reason = NULL, outlet = NULL, queued_at = NULL, claim = 7,
                                      updated_at = now()
                WHERE user_id IN ('u1', 'u2', 'u3')
                """
            )
            let campaign = HoldSelection(scope, of: number, event: EventID(validating: "campaign"))
            let admin = HoldAdmin(pool: servers.owner)
            let discarded = try await admin.discard(campaign, agreed: 1, by: Self.ada, pausing: .zero)
            #expect(discarded == DiscardResult(done: 1, left: 0, isHeld: true))
            _ = try await servers.owner.run(
                "UPDATE inbox SET created_at = now() WHERE person = (SELECT number FROM people WHERE user_id = 'u3')"
            )
            try await Self.release(pipeline, number)
            try await servers.pass("10 min", since: "updated_at", in: "deliveries", where: "state = 'sending'")
            try await pipeline.wait(for: 2, Self.delivered)
            let ended = "SELECT user_id || ' ' || unknown_sends FROM deliveries WHERE reason = 'discarded' ORDER BY 1"
            try await eventually("the one of the event is discarded") {
                try await servers.column(ended) == ["u0 0", "u1 1"]
            }
            #expect(Set(sender.tokens) == ["u2", "u3"] && sender.tokens.count == 2)
        }
    }

    @Test(
        "a worker that starts during a hold applies it before its first send, and after a release sends each once"
    )
    func restart() async throws {
        try await ServerFixture.withTopology { servers in
            let sender = GatedSender(isOpen: true)
            let numbers = Numbers()
            try await Self.run(servers, sender) { pipeline in
                try await Self.register(pipeline, Self.users(6))
                numbers.add(try await Self.hold(pipeline, try Self.scope("transaction_complete")))
                try await Self.publish(pipeline, to: Self.users(5))
                try await pipeline.wait(for: 5, Self.held)
            }
            try await Self.run(servers, sender) { pipeline in
                try await Self.publish(pipeline, to: ["u5"])
                try await pipeline.wait(for: 6, Self.held)
                #expect(sender.tokens.isEmpty)
            }
            _ = try await HoldAdmin(pool: servers.owner).release(try #require(numbers.first), by: Self.ada)
            // No worker ran at the time of the release.
            try await Self.run(servers, sender) { pipeline in
                try await pipeline.wait(for: 6, Self.delivered)
                #expect(Set(sender.tokens) == Set(Self.users(6)))
                #expect(sender.tokens.count == 6)
            }
        }
    }
}

/// Numbers that one body of a test passes to the next.
private final class Numbers: Sendable {
    private let all = Mutex<[Int64]>([])

    func add(_ number: Int64) { all.withLock { $0.append(number) } }
    var first: Int64? { all.withLock(\.first) }
}
