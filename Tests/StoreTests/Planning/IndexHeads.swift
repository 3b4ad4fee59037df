import IntegrationSupport
import Postgres

/// The first expression of each index of a schema.
enum IndexHeads {
    static func all(in servers: ServerFixture) async throws -> [String: String] {
        let rows = try await servers.owner.run(
            """
            SELECT c.relname::text, pg_get_indexdef(c.oid, 1, true)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relkind = 'i'
            """,
            [.text("\(servers.namespace)")]
        )
        var heads: [String: String] = [:]
        for row in rows.indices { heads[try rows.text(row, 0)] = try rows.text(row, 1) }
        return heads
    }
}
