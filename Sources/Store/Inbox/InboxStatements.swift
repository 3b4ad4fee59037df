import BellhopRules
import Postgres

/// The SQL of the inbox.
enum InboxStatements {
    static func parameters(of records: [InboxRecord], _ claim: Claim) -> [Parameter] {
        let lines = records.flatMap { record in
            let urgency = record.words.content.priority.urgency
            return record.deliveries.map { (id: record.id.text, urgency: urgency, line: $0) }
        }
        return [
            .textArray(records.map { $0.app.text }),
            .textArray(records.map { $0.user.text }),
            .textArray(records.map { $0.id.text }),
            .textArray(records.map { $0.words.content.event.text }),
            .bytesArray(records.map { $0.words.contentHash.bytes }),
            .textArray(records.map { $0.words.content.type.text }),
            .textArray(records.map { $0.words.content.title }),
            .textArray(records.map { $0.words.content.body }),
            .textArray(records.map { $0.words.content.priority.rawValue }),
            .textArray(records.map { $0.words.content.venueID }),
            .jsonArray(records.map { $0.words.link }),
            .jsonArray(records.map { $0.words.data }),
            .jsonArray(records.map { $0.words.extras }),
            .instantArray(records.map { $0.words.saidAt?.microseconds }),
            .bytesArray(records.map { SubjectHash.recipient($0.app, $0.user).bytes }),
            .textArray(lines.map(\.id)),
            .textArray(lines.map(\.line.channel.rawValue)),
            .textArray(lines.map(\.line.target)),
            .textArray(lines.map(\.line.state.rawValue)),
            .textArray(lines.map(\.line.reason)),
            .integer(claim.number),
            .instantArray(lines.map { $0.line.wait?.until.microseconds }),
            .jsonArray(lines.map { $0.line.wait?.json }),
            .integerArray(lines.map(\.urgency)),
            .integerArray(records.map { Int64($0.position) }),
        ]
    }

    /// Lines open only for what is new: the statement that inserts a `sending` line is what gives the right to send it.
    ///
    /// What came due while the batch was held is due now: whoever looks for it may not look further back.
    static let record = Statement(
        """
        WITH recorded AS (
            INSERT INTO notifications
                (app, user_id, id, event_id, content_hash, type, title, body, priority, venue_id, link, data, extras,
                 created_at)
            SELECT r.app, r.user_id, r.id, r.event_id, r.content_hash, r.type, r.title, r.body, r.priority, r.venue_id,
                   r.link, r.data, r.extras, now() + r.position * interval '1 us'
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[],
                        $8::text[], $9::text[], $10::text[], $11::jsonb[], $12::jsonb[], $13::jsonb[],
                        $14::timestamptz[], $15::bytea[], $25::bigint[])
                 AS r (app, user_id, id, event_id, content_hash, type, title, body, priority, venue_id, link, data,
                       extras, said_at, subject_hash, position)
            WHERE NOT EXISTS (
                SELECT FROM tombstones t
                WHERE t.app = r.app AND t.subject_hash = r.subject_hash
                  AND CASE WHEN r.said_at IS NULL THEN t.returned_at IS NULL ELSE r.said_at <= t.deleted_at END
                OFFSET 0
            )
            ON CONFLICT (app, user_id, id) DO NOTHING
            RETURNING app, user_id, id
        ), opened AS (
            INSERT INTO deliveries
                (app, user_id, notification_id, channel, target, state, reason, claim, due_at, decision, urgency)
            SELECT n.app, n.user_id, n.id, d.channel, d.target, d.state, d.reason,
                   CASE WHEN d.state = 'sending' THEN $21::bigint END,
                   CASE WHEN d.due_at IS NOT NULL THEN greatest(d.due_at, now()) END, d.decision, d.urgency
            FROM unnest($16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $22::timestamptz[],
                        $23::jsonb[], $24::bigint[])
                 AS d (id, channel, target, state, reason, due_at, decision, urgency)
            JOIN recorded n ON n.id = d.id
        )
        SELECT id FROM recorded
        """
    )

    /// The notification that `key` names by `app`, `user_id` and `id`, or the next one: whoever joins it compares the id.
    ///
    /// The list's index begins like the primary key. To a server that takes the table for small the two are worth the same
    /// for one id, and by the list's it would read all that the user has; only the primary key has the order of the ids.
    static func one(_ columns: String, of key: String, id: String = "id") -> String {
        """
        (SELECT \(columns) FROM notifications
         WHERE app = \(key).app AND user_id = \(key).user_id AND id >= \(key).\(id)
         ORDER BY id LIMIT 1)
        """
    }

    static let lookUp = Statement(
        """
        SELECT r.position, n.content_hash
        FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r (app, user_id, id, position)
        CROSS JOIN LATERAL \(one("id, content_hash", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )

    /// Superseded is what a later one with the same collapse key has taken the place of.
    static let load = Statement(
        """
        SELECT n.app, n.user_id, n.id, n.event_id, n.type, n.title, n.body, n.priority, n.venue_id, n.link, n.data,
               n.extras, n.read_at IS NOT NULL,
               n.extras ? 'collapseKey' AND EXISTS (
                   SELECT FROM notifications l
                   WHERE l.app = n.app AND l.user_id = n.user_id
                     AND (l.created_at, l.id) > (n.created_at, n.id)
                     AND l.extras ->> 'collapseKey' = n.extras ->> 'collapseKey'),
               n.created_at
        FROM unnest($1::text[], $2::text[], $3::text[]) AS r (app, user_id, id)
        CROSS JOIN LATERAL \(one("*", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )
}
