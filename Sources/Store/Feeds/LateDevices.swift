import BellhopRules
import Postgres

/// Gives devices that are new a part in what still waits for their users' quiet hours or digests.
///
/// What has gone out, or is being tried, stays with the devices that there were: a retry or a replay adds none.
enum LateDevices {
    /// `fresh` holds the rows that a registration has made: app, user, and the subscription's id.
    static func join(_ fresh: Rows, on connection: PostgresConnection) throws(PostgresError) {
        guard !fresh.isEmpty else { return }
        var columns: [[String?]] = [[], [], []]
        for row in fresh.indices {
            for place in columns.indices { columns[place].append(try fresh.text(row, .index(place))) }
        }
        _ = try connection.run(join, columns.map { .textArray($0) })
    }

    /// Each is decided anew when its time has come, for this device as for the others.
    private static let join = Statement(
        """
        INSERT INTO ledger (person, id, target, state, reason, due_at, decision, urgency)
        SELECT DISTINCT ON (d.person, d.id, s.id)
               d.person, d.id, target_number(s.id), d.state, d.reason, greatest(d.due_at, now()), d.decision, d.urgency
        FROM unnest($1::text[], $2::text[], $3::text[]) AS r (app, user_id, id)
        JOIN push_subscriptions s
            ON s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.user_id]) AND s.id = r.id AND s.revoked_at IS NULL
        CROSS JOIN LATERAL \(People.number(of: "r")) AS p
        CROSS JOIN LATERAL (
            SELECT * FROM ledger
            WHERE person = p.number AND due_at IS NOT NULL AND sent_at IS NULL
            ORDER BY person, due_at
        ) AS d
        WHERE d.target <> \(TargetNumber.mailbox) AND d.state = \(DeliveryState.deferred.sql)
          AND d.reason IN (\(Wait.Reason.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")))
        ORDER BY d.person, d.id, s.id, d.due_at
        ON CONFLICT DO NOTHING
        """
    )
}
