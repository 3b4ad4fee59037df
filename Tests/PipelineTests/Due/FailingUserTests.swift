import AMQP
import BellhopRules
import ServiceRuntime
import Store
import TestSupport
import Testing
import Workbench

@testable import Pipeline
@testable import Postgres

@Suite(
    "Users on whose rows the server fails, among others",
    .inTurn,
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
        let duty: @Sendable (DutyTools) -> any Service
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
            duty: { HandOver(tools: $0, rhythm: .init(interval: .milliseconds(100))) },
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
            duty: { ReceiptHandOver(tools: $0, interval: .milliseconds(100)) },
            work: Statement("\(ledger) 'accepted', NULL, now(), now(), 't', 0 FROM generate_series(1, \(users)) AS n"),
            table: "ledger",
            failing: "person = number",
            released: "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '5 min'",
            taken: "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '5 min'",
            queue: { $0.receipts }
        ),
        Case(
            testDescription: "badges",
            duty: { BadgeHandOver(tools: $0, rhythm: .init(interval: .milliseconds(100), calm: .zero)) },
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

    private static func messages(in queue: String, of bench: Bench) async throws -> Int {
        let broker = try bench.broker
        return Int(try await BrokerSession.with(broker, name: "test") { try $0.checkQueue(queue) }?.messages ?? 0)
    }

    @Test("one user's row on which the server fails delays no other user", arguments: cases)
    func damaged(_ duty: Case) async throws {
        try await Bench.withTopology { bench in
            _ = try await bench.owner.run(duty.work)
            // A trigger's condition may contain no query.
            let failing = try await bench.column("SELECT number::text FROM people WHERE user_id = 'u7'")
            let number = try #require(failing.first ?? nil)
            let condition = duty.failing.replacing("number", with: number)
            try await bench.damage("OLD.\(condition)", of: duty.table, at: "UPDATE")
            let metrics = MetricsRegistry()
            try await RunningDuty.with(duty.duty, on: bench, metrics: metrics) {
                try await eventually("all others are released") {
                    try await bench.count(duty.released) == Self.users - 1
                }
                try await eventually("the failing user is counted") {
                    metrics.text().split(separator: "\n").contains { line in
                        line.hasPrefix("bellhop_given_up_messages_total{") && line.hasSuffix(" 1")
                    }
                }
                try await bench.repair(of: duty.table)
            }
        }
    }

    @Test("a page of the ledger on which the server fails does not stop the search for forgotten claims")
    func damagedPage() async throws {
        try await Bench.withTopology { bench in
            _ = try await bench.owner.run(
                """
                WITH known AS (INSERT INTO people (app, user_id) VALUES ('drop', 'u') RETURNING number)
                INSERT INTO ledger (person, id, target, state, updated_at, urgency)
                SELECT number, n, 1, 's', now() - interval '1 hour', 1 FROM generate_series(1, 2000) AS n CROSS JOIN known
                """
            )
            try await bench.damage("OLD.id = 1000", of: "ledger", at: "UPDATE")
            let rhythm = ForgottenClaimFinder.Rhythm(
                step: .milliseconds(10),
                rest: .milliseconds(100),
                lease: .seconds(60)
            )
            try await RunningDuty.with({ ForgottenClaimFinder(tools: $0, rhythm: rhythm) }, on: bench) {
                try await eventually("the claims of the other pages are found") {
                    let size =
                        "(SELECT count(*) FROM ledger d WHERE (d.ctid::text::point)[0] = (l.ctid::text::point)[0])"
                    let left = try await bench.count("SELECT count(*) FROM ledger WHERE due_at IS NULL")
                    let page = try await bench.count("SELECT \(size) FROM ledger l WHERE id = 1000")
                    return left > 0 && left <= page
                }
            }
        }
    }

    @Test("work that the broker has not confirmed is published again immediately", arguments: cases.dropFirst())
    func unconfirmed(_ duty: Case) async throws {
        try await Bench.withTopology { bench in
            let host = try #require(try bench.broker.hosts.first)
            let proxy = try TCPProxy(to: host.name, Int(host.port))
            defer { proxy.stop() }
            let broker = try BrokerAddress(validating: proxy.url(replacingHostOf: try #require(Servers.amqpURL)))
            try await RunningDuty.with(duty.duty, on: bench, by: broker) {
                proxy.blackHole(true)
                _ = try await bench.owner.run(duty.work)
                try await eventually("it is taken") { try await bench.count(duty.taken) == Self.users }
                proxy.cutAll()
                proxy.blackHole(false)
                try await eventually("its message has arrived") {
                    try await Self.messages(in: duty.queue(bench.names), of: bench) > 0
                }
            }
        }
    }
}

@Suite("Statements of which a part fails, without servers")
struct FailingUsersTests {
    private static func error(_ state: String) -> PostgresError {
        let state = SQLState(known: state)
        return PostgresError(.server(state), "a test", sqlState: state)
    }

    private static func users(at time: SkippingTime) -> FailingUsers {
        let context = PipelineContext.test(time: time, chance: .system)
        return FailingUsers(taking: "test", time: time, logger: context.logger, metrics: context.metrics.setAside)
    }

    /// Takes from `all` users, of whom `failing` fail, and returns the numbers that were taken.
    private static func take(
        _ users: FailingUsers,
        of all: [Int64] = Array(1...16),
        failing: Set<Int64>,
        code: String = "XX001",
        statements: inout Int,
        onFailure: () -> Void = {}
    ) async throws(PostgresError) -> [Int64] {
        let admitted = { (filter: UserFilter) -> [Int64] in
            switch filter {
            case .all(let left): all.filter { !left.contains($0) }
            case .only(let named, _): named
            }
        }
        let taken = try await users.take { (filter) throws(PostgresError) in
            QueueHead(users: admitted(filter), until: Timestamp(clamping: 1))
        } isEmpty: {
            $0.isEmpty
        } _: { (filter) throws(PostgresError) -> [Int64] in
            statements += 1
            let named = admitted(filter)
            guard failing.isDisjoint(with: named) else {
                onFailure()
                throw error(code)
            }
            return named
        }
        return taken.values.flatMap { $0 }.sorted()
    }

    @Test("failing users are left out for a minute, and the statement for the others is not divided meanwhile")
    func leftOut() async throws {
        let time = SkippingTime()
        let users = Self.users(at: time)
        var statements = 0
        let others = (Int64(1)...16).filter { $0 != 3 && $0 != 11 }
        #expect(try await Self.take(users, failing: [3, 11], statements: &statements) == others)
        #expect(statements <= 20)
        statements = 0
        #expect(try await Self.take(users, failing: [3, 11], statements: &statements) == others)
        #expect(statements == 1)
        time.skip(.seconds(61))
        #expect(try await Self.take(users, failing: [], statements: &statements).count == 16)
    }

    @Test("an error that concerns no user is thrown, and nobody is left out")
    func server() async throws {
        let users = Self.users(at: SkippingTime())
        var statements = 0
        await #expect(throws: PostgresError.self) {
            var statements = 0
            _ = try await Self.take(users, failing: [3], code: "57P01", statements: &statements)
        }
        #expect(try await Self.take(users, failing: [], statements: &statements).count == 16)
    }

    @Test("if the server fails on everyone, the error is thrown, nobody is left out, and all are taken afterwards")
    func everyone() async throws {
        for count in [Int64(1), 3, 16] {
            let users = Self.users(at: SkippingTime())
            let all = Array(1...count)
            for _ in 0..<3 {
                await #expect(throws: PostgresError.self) {
                    var statements = 0
                    defer { #expect(statements <= 14) }
                    _ = try await Self.take(users, of: all, failing: Set(all), statements: &statements)
                }
            }
            var statements = 0
            #expect(try await Self.take(users, of: all, failing: [], statements: &statements) == all)
        }
    }

    @Test("a user who is alone at first is left out as soon as there is work of others")
    func alone() async throws {
        let users = Self.users(at: SkippingTime())
        await #expect(throws: PostgresError.self) {
            var statements = 0
            _ = try await Self.take(users, of: [1], failing: [1], statements: &statements)
        }
        var statements = 0
        #expect(try await Self.take(users, of: [1, 2], failing: [1], statements: &statements) == [2])
        #expect(statements == 2)
        #expect(try await Self.take(users, of: [1, 2], failing: [1], statements: &statements) == [2])
        #expect(statements == 3)
    }

    @Test("a division of slow statements continues in the next call, and work of others is taken meanwhile")
    func slow() async throws {
        let time = SkippingTime()
        let users = Self.users(at: time)
        var taken: [Int64] = []
        for call in 0..<6 {
            var statements = 0
            let all = Array(1...(4 + Int64(call)))
            let rest = all.filter { !taken.contains($0) }
            let found = try? await Self.take(users, of: rest, failing: [1], statements: &statements) {
                time.skip(.seconds(30))
            }
            taken += found ?? []
            #expect(statements <= 3)
        }
        #expect(taken.sorted() == Array(2...9))
    }
}
