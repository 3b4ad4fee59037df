import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Cost of unread counts",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct UnreadCostTests {
    private static let insert = Statement(
        """
        INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency, created_at, read_at)
        SELECT p, n, 'e' || n, '', 'system', 't', 'b', 1, now() - interval '10 d' + n * interval '1 s',
               CASE WHEN n % ($1::bigint / 5) = 0 THEN NULL ELSE now() END
        FROM generate_series(1, $1::bigint) n, generate_series($2::bigint, $3::bigint) p
        """
    )

    /// Returns the users with the numbers from `first` on.
    private static func readers(from first: Int64, _ pool: PostgresPool) async throws -> [UserKey] {
        let history = try await pool.withConnection { (connection) throws(PostgresError) in connection.history }
        return try readers(from: first, history)
    }

    private static func readers(from first: Int64, _ history: DatabaseHistory) throws -> [UserKey] {
        try (first..<first + 10).map { number in
            var key = try #require(UserKey("drop", "u\(number)"))
            key.number = PersonNumber(value: number, history: history)
            return key
        }
    }

    @Test("a count reads only unread rows, whatever the table's size and even with a plan made for empty tables")
    func rows() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            let pool = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .worker), size: 1)
            let inbox = WorkerStore(pool: pool)
            let few = try await Self.readers(from: 1, pool)
            let many = try await Self.readers(from: 101, pool)
            for _ in 0..<7 { _ = try await inbox.unread(of: few) }
            _ = try await servers.owner.run(Self.insert, [.integer(100), .integer(1), .integer(10)])
            _ = try await servers.owner.run(Self.insert, [.integer(10_000), .integer(101), .integer(110)])
            for readers in [few, many] {
                let before = try await OtherUsers.rowsRead(servers, by: pool)["inbox"] ?? 0
                let unread = try await inbox.unread(of: readers)
                let after = try await OtherUsers.rowsRead(servers, by: pool)["inbox"] ?? 0
                #expect(Set(unread.values) == [5] && unread.count == 10)
                #expect(after - before <= 60, "\(after - before) rows")
            }
            await pool.close()
        }
    }
}
