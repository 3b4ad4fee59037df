import BellhopRules
package import Postgres

/// The states of single deliveries, for a dry run.
extension ReplayAdmin {
    /// Returns the states of these deliveries; deleted ones are omitted.
    package func states(of keys: [DeliveryKey]) async throws(PostgresError) -> [DeliveryKey: DeliveryState] {
        guard !keys.isEmpty else { return [:] }
        let rows = try await pool.run(Self.states, DeliveryKey.parameters(keys))
        var states: [DeliveryKey: DeliveryState] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices),
                let state = DeliveryState(rawValue: try rows.text(row, 1))
            else { continue }
            states[keys[place]] = state
        }
        return states
    }

    private static let states = Statement(
        """
        SELECT k.position, delivery_state(l.state)
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id, unnest($3::bigint[]) AS id, unnest($4::bigint[]) AS target
        ) AS k
        CROSS JOIN LATERAL \(UserKey.number(of: "k")) AS p
        JOIN ledger l ON l.person = p.number AND l.id = k.id AND l.target = k.target
        """,
        effect: .reads
    )
}
