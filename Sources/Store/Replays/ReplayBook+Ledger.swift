import BellhopRules
package import Postgres

/// Where single lines of the ledger stand, for whoever foresees a replay.
extension ReplayBook {
    /// The states of these lines; none for those that are no more.
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
        SELECT k.position, l.state
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
            AS k (app, user_id, notification_id, channel, target, position)
        JOIN deliveries l ON l.app = k.app AND l.user_id = k.user_id AND l.notification_id = k.notification_id
            AND l.channel = k.channel AND l.target = k.target
        """,
        effect: .reads
    )
}
