import AMQP
import Foundation
import Postgres
import TestSupport

/// A publisher's schema with an outbox, its writers, and a queue that shows what reached the broker.
///
/// Each transaction also notes its events in a table, so that the committed ones are known after any failure.
struct OutboxFixture: Sendable {
    /// A committed event: the number of its row is its place in the order of its key.
    struct Committed: Sendable {
        let event: String
        let key: String
        let row: Int64
    }

    private let stage: Stage
    private let schema: String
    private let application: PostgresPool
    private var tap: String { "\(stage.namespace).tap" }

    static func with(_ stage: Stage, _ body: (OutboxFixture) async throws -> Void) async throws {
        let schema = "\(stage.namespace)_shop"
        var options = PoolOptions(url: try DatabaseURL(stage.servers.database))
        options.size = 0...8
        options.setUp = ["SET search_path TO \(schema)"]
        let fixture = OutboxFixture(stage: stage, schema: schema, application: PostgresPool(options))
        let result: Result<Void, any Error>
        do {
            try await fixture.setUp()
            result = .success(try await body(fixture))
        } catch {
            result = .failure(error)
        }
        await fixture.application.close()
        try result.get()
    }

    private func setUp() async throws {
        let script = try await stage.run(Program.bellhop, ["relay", "--schema"])
        let journal = "CREATE TABLE journal (event text PRIMARY KEY, key text NOT NULL, row bigint NOT NULL)"
        let (schema, statements) = (schema, [script, journal])
        _ = try await application.run(Statement("CREATE SCHEMA \(schema)"))
        try await application.withConnection { (connection) throws(PostgresError) in
            for statement in statements { try connection.execute(statement) }
        }
        try await BrokerSession.with(try stage.broker, name: "proof, tapping") { [tap, stage] session in
            _ = try session.declareQueue(tap, arguments: ["x-queue-type": .string("quorum")])
            try session.bind(tap, to: stage.names.events, key: "#")
        }
    }

    func relay() async throws -> Role {
        let joint = stage.servers.database.contains("?") ? "&" : "?"
        let url = "\(stage.servers.database)\(joint)options=-csearch_path%3D\(schema)"
        return try await stage.relay(["BELLHOP_RELAY_URL": url])
    }

    // MARK: - Writers

    /// Writes from four writers until each of them has committed its part of `count` events.
    ///
    /// Each writer has separate keys, and one key belongs to all of them. Every seventh transaction is rolled back.
    func write(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 { group.addTask { try await self.write(count / 4, as: writer) } }
            try await group.waitForAll()
        }
    }

    private func write(_ count: Int, as writer: Int) async throws {
        var (committed, number) = (0, 0)
        while committed < count {
            let size = 1 + number % 5
            let events = (0..<size).map { "w\(writer)-\(number)-\($0)" }
            let keys = (0..<size).map { $0 == 3 ? "shared" : "w\(writer)-\((number + $0) % 7)" }
            let isRolledBack = number % 7 == 6
            number += 1
            do throws(PostgresError) {
                try await application.transaction { (connection) throws(PostgresError) in
                    for (event, key) in zip(events, keys) {
                        _ = try connection.run(Self.publish, [.text(Self.body(event)), .text(key), .text(event)])
                    }
                    if isRolledBack { _ = try connection.run("SELECT 1 / 0") }
                }
                committed += size
            } catch {
                // After a failure of the server, the journal tells whether the transaction was committed.
                if !isRolledBack { await Task.yield() }
            }
        }
    }

    private static let publish = Statement(
        """
        WITH written AS (SELECT bellhop_publish($1::jsonb, $2) AS row)
        INSERT INTO journal (event, key, row) SELECT $3, $2, row FROM written
        """
    )

    private static func body(_ event: String) -> String {
        let type = event.hasSuffix("1") ? "transaction_complete" : "system"
        return #"{"id":"\#(event)","app":"drop","eventType":"\#(type)","to":{"user":"u"},"title":"t","body":"b"}"#
    }

    func awaitCommits(_ count: Int) async throws {
        try await eventually("\(count) events are committed", atMost: .proof) {
            ((try? await application.run("SELECT count(*) FROM journal").integer(0, 0)) ?? 0) >= Int64(count)
        }
    }

    func awaitEmpty() async throws {
        try await eventually("the outbox is empty", atMost: .proof) {
            (try? await application.run("SELECT count(*) FROM bellhop_outbox").integer(0, 0)) == 0
        }
    }

    /// Returns the committed events, in the order of their rows.
    func committed() async throws -> [Committed] {
        let rows = try await application.run("SELECT event, key, row FROM journal ORDER BY row")
        return try rows.indices.map { row in
            Committed(event: try rows.text(row, 0), key: try rows.text(row, 1), row: try rows.integer(row, 2))
        }
    }

    // MARK: - Results

    func balance(_ expected: [Committed]) async throws -> OutboxBalance {
        var balance = OutboxBalance(expected: expected.count)
        balance.compare(recorded: try await stage.column("SELECT event_id FROM notifications"), with: expected)
        balance.compare(published: try await published(), with: expected)
        return balance
    }

    /// Returns the ids of all messages that reached the events exchange, in their order, and removes the queue.
    private func published() async throws -> [String] {
        try await BrokerSession.with(try stage.broker, name: "proof, tapping") { [tap] session in
            var ids: [String] = []
            while let message = try session.get(tap) {
                if let id = message.properties.messageID { ids.append(id) }
                try session.acknowledge(message.tag)
            }
            try session.deleteQueue(tap)
            return ids
        }
    }
}

/// Committed events compared with Bellhop's records and with the messages at the broker.
struct OutboxBalance: EvenBalance {
    let expected: Int
    private var recorded = 0
    private var published = 0
    private var lost: [String] = []
    private var doubled: [String] = []
    private var unexpected: [String] = []
    private var misplaced: [String] = []

    init(expected: Int) { self.expected = expected }

    var isEven: Bool { lost.isEmpty && doubled.isEmpty && unexpected.isEmpty && misplaced.isEmpty }

    var description: String {
        "committed \(expected), recorded \(recorded), messages \(published), lost \(lost.count), "
            + "doubled \(doubled.count), unexpected \(unexpected.count), out of order \(misplaced.count)"
            + (isEven ? "" : " such as \((lost + doubled + unexpected + misplaced).prefix(5))")
    }

    mutating func compare(recorded found: [String], with expected: [OutboxFixture.Committed]) {
        recorded = found.count
        let (distinct, wanted) = (Set(found), Set(expected.map(\.event)))
        lost += wanted.subtracting(distinct)
        unexpected += distinct.subtracting(wanted)
        doubled += Dictionary(found.map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }.map(\.key)
    }

    /// Compares the first message of each event; a repetition has the same id.
    mutating func compare(published found: [String], with expected: [OutboxFixture.Committed]) {
        published = found.count
        let known = Dictionary(expected.map { ($0.event, $0) }, uniquingKeysWith: { one, _ in one })
        unexpected += found.filter { known[$0] == nil }
        var seen: Set<String> = []
        var latest: [String: Int64] = [:]
        for event in found {
            guard let place = known[event], seen.insert(event).inserted else { continue }
            if place.row < latest[place.key] ?? 0 { misplaced.append("\(place.key): \(event)") }
            latest[place.key] = place.row
        }
        lost += known.keys.filter { !seen.contains($0) }
    }
}
