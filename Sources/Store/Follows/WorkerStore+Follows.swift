package import BellhopRules
package import Postgres

/// A user and a topic: the key of a follow.
package struct FollowKey: Hashable, Sendable {
    package let recipient: UserKey
    package let topic: Topic

    package init(_ recipient: UserKey, _ topic: Topic) {
        self.recipient = recipient
        self.topic = topic
    }
}

extension WorkerStore {
    /// Returns the current follows, in one round trip.
    ///
    /// Users who do not follow, or no longer follow, are omitted.
    package func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow] {
        guard !keys.isEmpty else { return [:] }
        let order = Array(keys)
        let who = UserKey.parameters(order.map(\.recipient))
        let rows = try await pool.run(Self.lookUp, who + [.textArray(order.map(\.topic.text))])
        var found: [FollowKey: StoredFollow] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: order.indices) else { continue }
            found[order[place]] = try StoredFollow(rows, row, from: 1)
        }
        return found
    }

    private static let lookUp = Statement(
        """
        SELECT r.position, \(StoredFollow.columns(of: "f"))
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id, unnest($3::text[]) AS topic
        ) AS r
        CROSS JOIN LATERAL (
            SELECT * FROM follows WHERE user_id = r.user_id AND app = r.app AND topic = r.topic OFFSET 0
        ) AS f
        WHERE f.removed_at IS NULL
        """,
        effect: .reads
    )
}
