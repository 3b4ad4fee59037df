package import BellhopRules
package import Postgres

/// The queue bindings on the broker.
///
/// AMQP can bind and unbind but not list, so they are recorded here.
package struct BindingStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns every routing key that may be bound, with its lane.
    package func all() async throws(PostgresError) -> [String: Lane] {
        let rows = try await pool.run(Statement("SELECT routing_key, lane FROM topology_bindings"), [])
        var lanes: [String: Lane] = [:]
        for row in 0..<rows.count {
            lanes[try rows.text(row, 0)] = Lane(rawValue: try rows.text(row, 1))
        }
        return lanes
    }

    /// Records bindings before they are made.
    ///
    /// After a crash in between, an excess record remains, which the next run corrects, but never an unrecorded
    /// binding.
    package func record(_ lanes: [String: Lane]) async throws(PostgresError) {
        _ = try await pool.run(
            Statement(
                """
                INSERT INTO topology_bindings (routing_key, lane)
                SELECT * FROM unnest($1::text[], $2::text[])
                ON CONFLICT (routing_key) DO UPDATE SET lane = excluded.lane, applied_at = now()
                """
            ),
            [.textArray(Array(lanes.keys)), .textArray(lanes.values.map(\.rawValue))]
        )
    }

    /// Deletes the records of bindings that were removed from the broker.
    package func forget(_ routingKeys: [String]) async throws(PostgresError) {
        _ = try await pool.run(
            Statement("DELETE FROM topology_bindings WHERE routing_key = ANY ($1::text[])"),
            [.textArray(routingKeys)]
        )
    }
}
