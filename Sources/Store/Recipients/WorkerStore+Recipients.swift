package import BellhopRules
package import Postgres

extension WorkerStore {
    /// Returns the stored data of each user, in one round trip for any number of users.
    ///
    /// The returned keys contain the users' numbers. A user without stored data has the defaults and no number.
    package func recipients(of keys: Set<UserKey>) async throws(PostgresError) -> [UserKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        let order = Array(keys)
        let rows = try await pool.run(Self.people, UserKey.parameters(order))
        var found: [UserKey: Recipient] = [:]
        found.reserveCapacity(order.count)
        var reader = RecipientDecoder()
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: order.indices) else { continue }
            var key = order[place]
            let recipient = try reader.read(rows, row, from: 1, numbering: &key)
            found[key] = recipient
        }
        guard found.count < order.count else { return found }
        for key in order where found[key] == nil { found[key] = Recipient() }
        return found
    }

    private static let people = Statement(
        """
        SELECT w.position, \(RecipientDecoder.columns(of: "p"))
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id
        ) AS w
        CROSS JOIN LATERAL \(UserKey.row(of: "w")) AS p
        """,
        effect: .reads
    )
}
