import AMQP
import BellhopRules
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Pipeline
@testable import Postgres

@Suite(
    "Users on whose rows the server fails, among others",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct FailingUserTests {
    /// A duty that takes work of many users with one statement.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let duty: @Sendable (SchedulerContext) -> any Service
        /// The statement that makes work due for the users of ``users``.
        let work: Statement
        let table: String
        /// The condition for the row of the failing user; `number` stands for the user's number.
        let failing: String
        /// The query for the number of users whose work was released.
        let released: String
        /// The query for the number of users whose work was taken and not confirmed yet.
        let taken: String
        let queue: @Sendable (TopologyNames) -> String
    }

    private static let users = 20

    private static let ledger = """
        INSERT INTO deliveries
            (app, user_id, notification_id, channel, target, state, reason, due_at, sent_at, provider_message_id, urgency)
        SELECT 'drop', 'u' || n, 'noti_ffffffffffffffff', 'push', 's',
        """

    private static let cases = [
        Case(
            testDescription: "due deliveries",
            duty: { DueDeliveryDuty(context: $0, rhythm: .init(interval: .milliseconds(100))) },
            work: Statement(
                "\(ledger) 'deferred', 'quiet-hours', now(), NULL, NULL, 0 FROM generate_series(1, \(users)) AS n"
            ),
            table: "ledger",
            failing: "person = number",
            released: "SELECT count(*) FROM deliveries WHERE state = 'pending'",
            taken: "SELECT count(*) FROM deliveries WHERE state = 'pending'",
            queue: { $0.resume(.urgent) }
        ),
        Case(
            testDescription: "receipts",
            duty: { ReceiptDuty(context: $0, interval: .milliseconds(100)) },
            work: Statement("\(ledger) 'accepted', NULL, now(), now(), 't', 0 FROM generate_series(1, \(users)) AS n"),
            table: "ledger",
            failing: "person = number",
            released: "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '5 min'",
            taken: "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '5 min'",
            queue: { $0.receipts }
        ),
        Case(
            testDescription: "badges",
            duty: { BadgeDuty(context: $0, rhythm: .init(interval: .milliseconds(100), calm: .zero)) },
            work: Statement(
                """
                WITH known AS (
                    INSERT INTO people (app, user_id) SELECT 'drop', 'u' || n FROM generate_series(1, \(users)) AS n
                    RETURNING app, user_id
                )
                INSERT INTO badge_updates (app, user_id, requested_at) SELECT app, user_id, now() FROM known
                """
            ),
            table: "badge_updates",
            failing: "user_id = 'u7'",
            released: "SELECT \(users) - count(*) FROM badge_updates",
            taken: "SELECT count(*) FROM badge_updates WHERE handed_over_at IS NOT NULL",
            queue: { $0.resume(.normal) }
        ),
    ]

    private static func messages(in queue: String, of servers: ServerFixture) async throws -> Int {
        let broker = try servers.broker
        return Int(try await BrokerSession.with(broker, name: "test") { try $0.checkQueue(queue) }?.messages ?? 0)
    }

    @Test("one user's row on which the server fails delays no other user", arguments: cases)
    func damaged(_ duty: Case) async throws {
        try await ServerFixture.withTopology { servers in
            _ = try await servers.owner.run(duty.work)
            // A trigger's condition may contain no query.
            let failing = try await servers.column("SELECT number::text FROM people WHERE user_id = 'u7'")
            let first = failing.first ?? nil
            let number = try #require(first)
            let condition = duty.failing.replacing("number", with: number)
            try await servers.damage("OLD.\(condition)", of: duty.table, at: "UPDATE")
            let metrics = MetricsRegistry()
            try await RunningDuty.with(duty.duty, on: servers, metrics: metrics) {
                try await eventually("all others are released") {
                    try await servers.count(duty.released) == Self.users - 1
                }
                try await eventually("the failing user is counted") {
                    metrics.text().split(separator: "\n").contains { line in
                        line.hasPrefix("bellhop_given_up_messages_total{") && line.hasSuffix(" 1")
                    }
                }
                try await servers.repair(of: duty.table)
            }
        }
    }

    @Test("a page of the ledger on which the server fails does not stop the search for forgotten claims")
    func damagedPage() async throws {
        try await ServerFixture.withTopology { servers in
            _ = try await servers.owner.run(
                """
                WITH known AS (INSERT INTO people (app, user_id) VALUES ('drop', 'u') RETURNING number)
                INSERT INTO ledger (person, id, target, state, updated_at, urgency)
                SELECT number, n, 1, 's', now() - interval '1 hour', 1 FROM generate_series(1, 2000) AS n CROSS JOIN known
                """
            )
            try await servers.damage("OLD.id = 1000", of: "ledger", at: "UPDATE")
            let rhythm = ForgottenClaimDuty.Rhythm(
                step: .milliseconds(10),
                rest: .milliseconds(100),
                lease: .seconds(60)
            )
            try await RunningDuty.with({ ForgottenClaimDuty(context: $0, rhythm: rhythm) }, on: servers) {
                try await eventually("the claims of the other pages are found") {
                    let size =
                        "(SELECT count(*) FROM ledger d WHERE (d.ctid::text::point)[0] = (l.ctid::text::point)[0])"
                    let left = try await servers.count("SELECT count(*) FROM ledger WHERE due_at IS NULL")
                    let page = try await servers.count("SELECT \(size) FROM ledger l WHERE id = 1000")
                    return left > 0 && left <= page
                }
            }
        }
    }

    @Test("work that the broker has not confirmed is published again immediately", arguments: cases.dropFirst())
    func unconfirmed(_ duty: Case) async throws {
        try await ServerFixture.withTopology { servers in
            let host = try #require(try servers.broker.hosts.first)
            let proxy = try TCPProxy(to: host.name, Int(host.port))
            defer { proxy.stop() }
            let broker = try BrokerAddress(validating: proxy.url(replacingHostOf: try #require(Servers.amqpURL)))
            try await RunningDuty.with(duty.duty, on: servers, by: broker) {
                proxy.blackHole(true)
                _ = try await servers.owner.run(duty.work)
                try await eventually("it is taken") { try await servers.count(duty.taken) == Self.users }
                proxy.cutAll()
                proxy.blackHole(false)
                try await eventually("its message has arrived") {
                    try await Self.messages(in: duty.queue(servers.names), of: servers) > 0
                }
            }
        }
    }
}

@Suite("Statements of which a part fails, without servers")
struct FailingUsersTests {
    /// A queue with one item of each user, in the order of their numbers.
    private final class Line {
        let time = SkippingTime()
        let users: FailingUsers
        var waiting: [Int64]
        var failing: Set<Int64> = []
        var code = "XX001"
        /// The duration of a failing statement.
        var slowness = Duration.zero
        private(set) var statements = 0

        init(_ waiting: [Int64], failing: Set<Int64> = []) {
            (self.waiting, self.failing) = (waiting, failing)
            let context = PipelineContext.test(time: time, chance: .system)
            users = FailingUsers(taking: "test", time: time, logger: context.logger, metrics: context.metrics.setAside)
        }

        /// Takes items and returns their users.
        func take(atMost limit: Int = 100) async throws(PostgresError) -> [Int64] {
            statements = 0
            let taken = try await users.take(atMost: limit) { (filter) throws(PostgresError) in
                QueueHead(users: self.first(limit, filter), until: Timestamp(clamping: 1))
            } count: {
                $0.count
            } _: { (filter, limit) throws(PostgresError) -> [Int64] in
                try self.run(filter, limit)
            }
            return taken.values.flatMap { $0 }
        }

        private func first(_ limit: Int, _ filter: UserFilter) -> [Int64] {
            let admitted =
                switch filter {
                case .all(let left): waiting.filter { !left.contains($0) }
                case .only(let named, _): waiting.filter(named.contains)
                }
            return Array(admitted.prefix(limit))
        }

        private func run(_ filter: UserFilter, _ limit: Int) throws(PostgresError) -> [Int64] {
            statements += 1
            let items = first(limit, filter)
            guard failing.isDisjoint(with: items) else {
                time.skip(slowness)
                let state = SQLState(known: code)
                throw PostgresError(.server(state), "a test", sqlState: state)
            }
            waiting.removeAll(where: items.contains)
            return items
        }
    }

    @Test("failing users are left out with growing pauses, and the statement for the others is not divided meanwhile")
    func leftOut() async throws {
        let line = Line(Array(1...16), failing: [3, 11])
        #expect(try await line.take().sorted() == (1...16).filter { $0 != 3 && $0 != 11 })
        #expect(line.statements <= 20)
        line.waiting += 17...20
        #expect(try await line.take() == Array(17...20))
        #expect(line.statements == 1)
        for _ in 0..<10 {
            line.time.skip(.seconds(61))
            line.waiting.append(21)
            #expect(try await line.take() == [21])
            #expect(line.statements == 3)
        }
        line.failing = []
        line.time.skip(.seconds(61))
        #expect(try await line.take().sorted() == [3, 11])
    }

    @Test("an error that concerns no user is thrown, and no user is left out")
    func server() async throws {
        let line = Line(Array(1...16), failing: [3])
        line.code = "57P01"
        await #expect(throws: PostgresError.self) { _ = try await line.take() }
        line.failing = []
        #expect(try await line.take() == Array(1...16))
        #expect(line.statements == 1)
    }

    @Test("if the server fails on everyone for a moment, all are taken seconds later", arguments: [1, 3, 16, 400])
    func everyone(count: Int64) async throws {
        let all = Array(1...count)
        let line = Line(all, failing: Set(all))
        for _ in 0..<3 {
            _ = try? await line.take(atMost: 1000)
            #expect(line.statements <= 28)
        }
        line.failing = []
        line.time.skip(.seconds(9))
        #expect(try await line.take(atMost: 1000).sorted() == all)
    }

    @Test("a division of slow statements continues in the next call, and work of others is taken meanwhile")
    func slow() async throws {
        let line = Line(Array(1...16), failing: [1])
        line.slowness = .seconds(30)
        var taken: [Int64] = []
        for call in 1...8 {
            let next = 16 + Int64(call)
            line.waiting.append(next)
            let found = (try? await line.take()) ?? []
            #expect(call == 1 || found.contains(next))
            #expect(line.statements <= 4)
            taken += found
        }
        #expect(Set(taken).isSuperset(of: 2...23))
        #expect(line.waiting.contains(1))
    }

    @Test("a small limit starves no user, and the failing user is found")
    func smallLimit() async throws {
        for limit in [1, 2, 5] {
            let line = Line(Array(1...40), failing: [7])
            var calls = 0
            while line.waiting != [7], calls < 200 {
                calls += 1
                _ = try? await line.take(atMost: limit)
            }
            #expect(calls < 40 / limit + 20)
        }
    }

    @Test("a queue that another process holds acquits no user")
    func busy() async throws {
        let line = Line([1, 2], failing: [1])
        line.slowness = .seconds(30)
        _ = try? await line.take()
        let taken = try await line.users.take(atMost: 10) { (_) throws(PostgresError) in
            QueueHead(users: [], until: Timestamp(clamping: 1))
        } count: { (_: Int) in
            nil
        } _: { (_, _) throws(PostgresError) in
            0
        }
        #expect(taken.ofSuspects.isEmpty)
        #expect(try await line.take() == [2])
    }
}
