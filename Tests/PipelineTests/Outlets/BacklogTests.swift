import AMQP
import BellhopRules
import IntegrationSupport
import Postgres
import Push
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

@Suite(
    "Backlogs",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct BacklogTests {
    private static let waiting = "SELECT count(*) FROM deliveries WHERE outlet IS NOT NULL AND state = 'deferred'"
    private static let delivered = "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"

    /// Runs a body together with a worker with these providers, which all answer after its end, when the drain begins.
    private static func run(
        _ servers: ServerFixture,
        _ senders: GatedSender...,
        body: @escaping @Sendable (PipelineFixture) async throws -> Void
    ) async throws {
        let app = try #require(AppID(validating: "drop"))
        let outfit = PipelineFixture.Outfit(senders: [
            app: Dictionary(uniqueKeysWithValues: senders.map { ($0.provider, $0) })
        ])
        try await PipelineFixture.on(servers, outfit: outfit) { pipeline in
            Task {
                try await eventually("the drain has begun") { pipeline.isDraining }
                for sender in senders { sender.open() }
            }
            try await body(pipeline)
        }
    }

    /// Gives each of these users a device whose token is the user's name.
    private static func register(_ pipeline: PipelineFixture, _ users: [String], at provider: PushProvider = .fcm)
        async throws
    {
        let known = try await pipeline.servers.count("SELECT count(*) FROM push_subscriptions")
        try await pipeline.publish(
            users.map { user in
                let platform = provider == .apns ? "ios" : "android"
                let token = provider == .expo ? "ExponentPushToken[\(user)]" : user
                let device = #""token":"\#(token)","platform":"\#(platform)","provider":"\#(provider.rawValue)""#
                return pipeline.event(#"{"userId":"\#(user)",\#(device)}"#, key: "drop.subscription.upserted")
            }
        )
        try await pipeline.wait(for: known + users.count, "SELECT count(*) FROM push_subscriptions")
    }

    /// Publishes one event for each user; with `limitedConcurrency`, one after another, so that they have an order.
    private static func publish(
        _ pipeline: PipelineFixture,
        to users: [String],
        type: String = "transaction_complete",
        limitedConcurrency: Bool = false
    ) async throws {
        let known = try await pipeline.servers.count("SELECT count(*) FROM notifications")
        for (number, user) in users.enumerated() {
            let event = pipeline.event(
                #"{"id":"\#(type)-\#(user)","to":{"user":"\#(user)"},"title":"Hei","body":"på deg"}"#,
                key: "drop.\(type)"
            )
            try await pipeline.publish([event])
            guard limitedConcurrency || number == users.count - 1 else { continue }
            try await pipeline.wait(for: known + number + 1, "SELECT count(*) FROM notifications")
        }
    }

    private static func users(_ count: Int, _ name: String = "u") -> [String] {
        (0..<count).map { "\(name)\($0)" }
    }

    @Test("deliveries that a slow provider cannot start wait in the ledger, and are sent in order when there is room")
    func order() async throws {
        try await ServerFixture.withTopology { servers in
            let sender = GatedSender(window: 1)
            try await Self.run(servers, sender) { pipeline in
                let users = Self.users(24)
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users, limitedConcurrency: true)
                try await pipeline.wait(for: 22, Self.waiting)
                #expect(sender.tokens.count == 2)
                let reasons = try await servers.column(
                    "SELECT DISTINCT reason FROM deliveries WHERE outlet IS NOT NULL"
                )
                #expect(reasons == ["window-full"])
                // Its messages are acknowledged; unacknowledged ones would be redelivered.
                try await sender.answerInTurn(until: 24)
                try await pipeline.wait(for: 24, Self.delivered)
                let sent = sender.tokens
                let others = users.filter { !sent.prefix(2).contains($0) }
                #expect(Array(sent.dropFirst(2)) == others)
                let unknown = try await servers.count("SELECT count(*) FROM deliveries WHERE unknown_sends > 0")
                #expect(unknown == 0)
            }
        }
    }

    @Test("urgent deliveries in a backlog are pulled before earlier ones")
    func urgent() async throws {
        try await ServerFixture.withTopology { servers in
            let sender = GatedSender(window: 1)
            try await Self.run(servers, sender) { pipeline in
                let users = Self.users(12)
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users, limitedConcurrency: true)
                try await pipeline.wait(for: 10, Self.waiting)
                try await Self.publish(pipeline, to: ["u11", "u10"], type: "security", limitedConcurrency: true)
                try await pipeline.wait(for: 12, Self.waiting)
                try await sender.answerInTurn(until: 14)
                try await pipeline.wait(for: 14, Self.delivered)
                #expect(Array(sender.tokens.dropFirst(2).prefix(2)) == ["u11", "u10"])
            }
        }
    }

    @Test("a budget is kept, and deliveries without a share wait and are sent as it refills")
    func budget() async throws {
        try await ServerFixture.withTopology { servers in
            let budget = PushBudget(name: "drop/fcm", pushes: 10, period: .seconds(1))
            let sender = GatedSender(budget: budget, isOpen: true)
            try await Self.run(servers, sender) { pipeline in
                let users = Self.users(60)
                try await Self.register(pipeline, users)
                // One event, so that many more deliveries than there are shares start together on any machine.
                let list = users.map { #""\#($0)""# }.joined(separator: ",")
                let body = #"{"id":"one","to":{"users":[\#(list)]},"title":"Hei","body":"på deg"}"#
                try await pipeline.publish([pipeline.event(body, key: "drop.transaction_complete")])
                try await pipeline.wait(for: 60, Self.delivered)
                #expect(Set(sender.tokens).count == 60)
                #expect(sender.tokens.count == 60)
                try await eventually("it is counted") {
                    pipeline.metrics.text().contains(#"bellhop_backlog_pulled_total{app="drop",provider="fcm"}"#)
                }
            }
        }
    }

    @Test("two providers that do not answer leave room for records without a device and for a third provider")
    func room() async throws {
        let catalogs = try ServerFixture.shipped(
            "drop",
            replacing: #"providers: ["expo", "webpush", "fcm"]"#,
            with: #"providers: ["expo", "apns", "fcm"]"#
        )
        try await ServerFixture.withTopology(catalogs: catalogs) { servers in
            let (slow, slower, quick) = (GatedSender(.fcm), GatedSender(.expo), GatedSender(.apns, isOpen: true))
            try await Self.run(servers, slow, slower, quick) { pipeline in
                try await Self.register(pipeline, ["a"], at: .fcm)
                try await Self.register(pipeline, ["b"], at: .expo)
                try await Self.register(pipeline, ["c"], at: .apns)
                let flood = (0..<1_400).map { number in
                    let user = number.isMultiple(of: 2) ? "a" : "b"
                    return pipeline.event(
                        #"{"id":"flood\#(number)","to":{"user":"\#(user)"},"title":"Hei","body":"på deg"}"#,
                        key: "drop.transaction_complete"
                    )
                }
                try await pipeline.publish(flood)
                try await pipeline.publish(
                    ["nobody", "c"].map { user in
                        pipeline.event(
                            #"{"id":"\#(user)","to":{"user":"\#(user)"},"title":"Hei","body":"på deg"}"#,
                            key: "drop.transaction_complete"
                        )
                    }
                )
                try await pipeline.wait(for: 1_402, "SELECT count(*) FROM notifications")
                try await pipeline.wait(for: 1, Self.delivered)
                #expect(quick.tokens == ["c"])
                slow.open()
                slower.open()
                try await pipeline.wait(for: 1_401, Self.delivered)
            }
        }
    }

    @Test("a drain leaves a backlog as it is, and another worker continues it")
    func drain() async throws {
        try await ServerFixture.withTopology { servers in
            let users = Self.users(10)
            let (first, second) = (GatedSender(window: 1), GatedSender(isOpen: true))
            try await Self.run(servers, first) { pipeline in
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users)
                try await pipeline.wait(for: 8, Self.waiting)
            }
            let left = try await servers.count(Self.waiting)
            let lost = try await servers.count("SELECT count(*) FROM deliveries WHERE state = 'sending'")
            #expect(left == 8)
            #expect(lost == 0)
            try await Self.run(servers, second) { pipeline in
                try await pipeline.wait(for: 10, Self.delivered)
            }
            #expect(Set(first.tokens + second.tokens).count == 10)
            #expect(second.tokens.count == 8)
        }
    }

    @Test("one user's delivery that cannot be pulled does not delay the others of its backlog")
    func damaged() async throws {
        try await ServerFixture.withTopology { servers in
            let gate = GatedSender(window: 1)
            try await Self.run(servers, gate) { pipeline in
                let users = Self.users(6)
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users)
                try await pipeline.wait(for: 4, Self.waiting)
                let next = try await servers.column(
                    """
                    SELECT person::text FROM ledger WHERE outlet IS NOT NULL ORDER BY queued_at LIMIT 1
                    """
                )
                let first = next.first ?? nil
                let person = try #require(first)
                try await servers.damage("OLD.person = \(person) AND OLD.state = 'w'", of: "ledger", at: "UPDATE")
                gate.open()
                try await pipeline.wait(for: 5, Self.delivered)
                #expect(try await servers.count(Self.waiting) == 1)
                try await servers.repair(of: "ledger")
                // It is left out for a minute.
                try await pipeline.wait(for: 6, Self.delivered)
            }
        }
    }

    @Test("a delivery that a killed worker had pulled is taken over after its lease, and counts as an unknown outcome")
    func killed() async throws {
        try await ServerFixture.withTopology { servers in
            let users = Self.users(3)
            let gate = GatedSender(window: 1)
            try await Self.run(servers, gate) { pipeline in
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users)
                try await pipeline.wait(for: 1, Self.waiting)
                let key = try #require(BacklogKey("drop/fcm"))
                let look = BacklogPoll(BacklogPlace(key, .normal), since: nil)
                let book = WorkerStore(pool: servers.pool, lease: PipelineFixture.lease)
                // The claim of a worker that never returns; it may have to wait for the running worker's poll.
                try await eventually("it is pulled") {
                    var chance = SystemRandomNumberGenerator()
                    let pulled = try await book.pull(look, atMost: 1, as: Claim(using: &chance))
                    guard case .lines(let lines) = pulled else { return false }
                    return lines.count == 1
                }
                gate.open()
                try await pipeline.wait(for: 2, Self.delivered)
                try await servers.pass(
                    "10 min",
                    since: "due_at",
                    "updated_at",
                    in: "deliveries",
                    where: "state = 'sending'"
                )
                try await pipeline.wait(for: 3, Self.delivered)
                let unknown = try await servers.column("SELECT sum(unknown_sends)::text FROM deliveries")
                #expect(unknown == ["1"])
            }
        }
    }

    @Test("a device that has changed its provider while its delivery waited is reached through the new one")
    func moved() async throws {
        try await ServerFixture.withTopology { servers in
            let (old, new) = (GatedSender(.fcm, window: 1), GatedSender(.expo, isOpen: true))
            try await Self.run(servers, old, new) { pipeline in
                let users = Self.users(3)
                try await Self.register(pipeline, users)
                try await Self.publish(pipeline, to: users)
                try await pipeline.wait(for: 1, Self.waiting)
                _ = try await servers.owner.run("UPDATE push_subscriptions SET provider = 'expo'")
                old.open()
                try await pipeline.wait(for: 3, Self.delivered)
                #expect(new.tokens.count == 1)
                #expect(old.tokens.count == 2)
            }
        }
    }
}
