import Foundation
package import Postgres
package import Store
import TestSupport

/// A publisher's schema with an outbox, and relays on it.
package struct PublisherFixture: Sendable {
    /// A pool with the rights of the application.
    package let application: PostgresPool
    package let url: DatabaseURL

    package static func with(_ body: (PublisherFixture) async throws -> Void) async throws {
        let schema = Servers.uniqueName("shop").replacingOccurrences(of: "-", with: "_")
        guard let text = Servers.databaseURL else { return }
        let joint = text.contains("?") ? "&" : "?"
        let url = try DatabaseURL("\(text)\(joint)options=-csearch_path%3D\(schema)")
        var options = PoolOptions(url: url)
        options.size = 0...4
        let fixture = PublisherFixture(application: PostgresPool(options), url: url)
        _ = try await fixture.application.run(Statement("CREATE SCHEMA \(schema)"))
        let result: Result<Void, any Error>
        do {
            // The second run must change nothing.
            for _ in 1...2 { try await fixture.execute(OutboxSchema.script) }
            result = .success(try await body(fixture))
        } catch {
            result = .failure(error)
        }
        try await fixture.execute("SET client_min_messages TO warning; DROP SCHEMA \(schema) CASCADE")
        await fixture.application.close()
        try result.get()
    }

    package func execute(_ script: String) async throws {
        try await application.withConnection { (connection) throws(PostgresError) in try connection.execute(script) }
    }

    /// Runs a body with a relay's store, on a session that ends with it.
    package func relay<Value: Sendable>(_ token: String, _ body: (OutboxStore) async throws -> Value) async throws
        -> Value
    {
        let pool = PostgresPool(OutboxStore.poolOptions(url))
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(OutboxStore(pool: pool, token: token)))
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return try result.get()
    }

    /// Publishes one event and returns the number of its row.
    @discardableResult
    package func publish(_ event: String, key: String?) async throws -> Int64 {
        try await application.run(Self.publish, [.text(event), key.map(Parameter.text) ?? .null]).integer(0, 0)
    }

    package static let publish = Statement("SELECT bellhop_publish($1::jsonb, $2)")
    package static let everything = request(rows: 1_000, bytes: 4 << 20)

    /// Requests rows of all slots from the first one on.
    package static func request(after floor: Int64 = 0, rows: Int, bytes: Int) -> OutboxStore.Request {
        let floors = (0..<OutboxSchema.slots).map { slot in (slot, floor) }
        return OutboxStore.Request(floors: Dictionary(uniqueKeysWithValues: floors), rows: rows, bytes: bytes)
    }

    /// Returns the events that wait in the outbox, in the order of their ids.
    package func waiting() async throws -> [String] {
        let rows = try await application.run("SELECT event ->> 'id' FROM bellhop_outbox ORDER BY id")
        return try rows.indices.map { row in try rows.text(row, 0) }
    }
}
