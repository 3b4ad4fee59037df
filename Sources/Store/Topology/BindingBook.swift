package import BellhopRules
package import Postgres

/// What was bound on the broker: AMQP can bind and unbind but not list, so it is written down here.
package struct BindingBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Every routing key that may be bound, with its lane.
    package func all() async throws(PostgresError) -> [String: Lane] {
        let rows = try await pool.run(Statement("SELECT routing_key, lane FROM topology_bindings"), [])
        var lanes: [String: Lane] = [:]
        for row in 0..<rows.count {
            lanes[try rows.text(row, 0)] = Lane(rawValue: try rows.text(row, 1))
        }
        return lanes
    }

    /// Written before the broker is told: a crash in between leaves a record too many, which the next run corrects,
    /// never a binding that nobody knows of.
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

    /// Called after the broker has unbound them.
    package func forget(_ routingKeys: [String]) async throws(PostgresError) {
        _ = try await pool.run(
            Statement("DELETE FROM topology_bindings WHERE routing_key = ANY ($1::text[])"),
            [.textArray(routingKeys)]
        )
    }
}
