import BellhopRules
import Postgres

/// Counts the deaths of stored items: after a failed replay, the same item opens again instead of a new one.
enum ReplayedDeadLetters {
    /// Reopens the items and returns for each dead letter whether its item existed, changed or not.
    ///
    /// A message names the replay that failed, and a delivery its number of attempts. A dead letter that arrives twice
    /// is therefore counted once.
    static func count(
        _ letters: [DeadLetterItem],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [Bool] {
        var items: [String?] = letters.map { _ in nil }
        try findMessages(letters, connection, &items)
        try findDeliveries(letters, connection, &items)
        // Of two dead letters for one item, the later one is used.
        var latest: [String: DeadLetterItem] = [:]
        for (letter, item) in zip(letters, items) {
            guard let item else { continue }
            guard let other = latest[item], other.order >= letter.order else {
                latest[item] = letter
                continue
            }
        }
        if !latest.isEmpty {
            _ = try connection.run(open, parameters(latest.sorted { $0.key < $1.key }))
        }
        return items.map { $0 != nil }
    }

    private static func findMessages(
        _ letters: [DeadLetterItem],
        _ connection: PostgresConnection,
        _ items: inout [String?]
    ) throws(PostgresError) {
        let marked = letters.indices.filter { letters[$0].replay != nil }
        guard !marked.isEmpty else { return }
        let rows = try connection.run(lookUpMessages, [.textArray(marked.map { letters[$0].replay?.item })])
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: marked.indices) else { continue }
            items[marked[place]] = try rows.text(row, 1)
        }
    }

    private static func findDeliveries(
        _ letters: [DeadLetterItem],
        _ connection: PostgresConnection,
        _ items: inout [String?]
    ) throws(PostgresError) {
        let owed = letters.indices.filter { letters[$0].delivery != nil }
        guard !owed.isEmpty else { return }
        let keys = owed.compactMap { letters[$0].delivery }
        let rows = try connection.run(lookUpDeliveries, DeliveryKey.texts(keys))
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: owed.indices) else { continue }
            items[owed[place]] = try rows.text(row, 1)
        }
    }

    private static func parameters(_ letters: [(key: String, value: DeadLetterItem)]) -> [Parameter] {
        [
            .textArray(letters.map(\.key)), .integerArray(letters.map { $0.value.replay.map { Int64($0.round) } }),
            .integerArray(letters.map { $0.value.replay?.replay }),
            .integerArray(letters.map { Int64($0.value.attempts) }),
            .instantArray(letters.map { $0.value.failedAt.microseconds }),
            .textArray(letters.map { $0.value.fingerprint }),
        ] + DeadLetterCause.parameters(retold, of: letters.map(\.value.cause))
    }

    /// The members that the latest death replaces.
    ///
    /// The message's owner stays.
    private static let retold: [DeadLetterCause.Member] = [.stage, .reason, .pointer, .error, .provider]

    private static let lookUpMessages = Statement(
        """
        SELECT k.position, d.dead_id
        FROM unnest($1::text[]) WITH ORDINALITY AS k (dead_id, position)
        CROSS JOIN LATERAL (SELECT dead_id FROM dead_letters WHERE dead_id = k.dead_id OFFSET 0) AS d
        """,
        effect: .reads
    )

    private static let lookUpDeliveries = Statement(
        """
        SELECT k.position, d.dead_id
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
            AS k (app, user_id, notification_id, channel, target, position)
        CROSS JOIN LATERAL (
            SELECT dead_id FROM dead_letters
            WHERE app || '' = k.app AND user_id = k.user_id AND notification_id = k.notification_id
              AND channel = k.channel AND target = k.target
            LIMIT 1
        ) AS d
        """,
        effect: .reads
    )

    /// The item keeps its first failure and gets the latest error; the previous error is added to its history.
    ///
    /// Rows are locked in the order of ``ReplayStore``: first the items of replays, then the dead letters.
    private static let open = Statement(
        """
        WITH letter AS (
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[],
                                 $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
                AS l (dead_id, round, replay, attempts, failed_at, fingerprint, stage, reason, pointer, error, provider)
        ), listed AS MATERIALIZED (
            SELECT i.replay_id, i.position, l.reason
            FROM letter l
            JOIN dead_letters d ON d.dead_id = ANY (ARRAY[l.dead_id])
            JOIN replay_items i ON i.dead_id = ANY (ARRAY[l.dead_id]) AND i.replay_id + 0 = coalesce(d.replay_id, 0)
            WHERE i.state || '' <> 'settled' AND (l.replay IS NULL OR l.replay = coalesce(d.replay_id, 0))
              AND CASE WHEN l.round IS NULL THEN d.attempts < l.attempts ELSE d.deaths <= l.round END
            ORDER BY i.replay_id + 0, i.position
            FOR UPDATE OF i
        ), dying AS MATERIALIZED (
            SELECT d.dead_id, d.reason, d.error, d.last_failed_at
            FROM letter l JOIN dead_letters d ON d.dead_id = ANY (ARRAY[l.dead_id])
            WHERE (SELECT count(*) FROM listed) >= 0
              AND CASE WHEN l.round IS NULL THEN d.attempts < l.attempts ELSE d.deaths <= l.round END
            ORDER BY l.dead_id
            FOR UPDATE OF d
        ), remembered AS (
            INSERT INTO dead_letter_history (dead_id, at, kind, words)
            SELECT dead_id, last_failed_at, 'died', reason || ': ' || error FROM dying
        ), returned AS (
            UPDATE replay_items i SET state = 'settled', outcome = 'failed', detail = l.reason, settled_at = now()
            FROM listed l WHERE i.replay_id = ANY (ARRAY[l.replay_id]) AND i.position = l.position
        )
        UPDATE dead_letters d
        SET state = 'open', replay_id = NULL, resolution = NULL, changed_at = now(), last_failed_at = l.failed_at,
            deaths = CASE WHEN l.round IS NULL THEN d.deaths + 1 ELSE l.round + 1 END,
            replays = greatest(d.replays, l.round),
            attempts = CASE WHEN l.round IS NULL THEN l.attempts
                ELSE least(d.attempts::bigint + l.attempts, 2147483647) END,
            fingerprint = l.fingerprint, stage = l.stage, reason = l.reason, pointer = l.pointer, error = l.error,
            provider = l.provider
        FROM dying y JOIN letter l ON l.dead_id = y.dead_id
        WHERE d.dead_id = ANY (ARRAY[y.dead_id])
        """
    )
}

extension DeadLetterItem {
    /// The order of deaths among dead letters of one item.
    fileprivate var order: Int { replay?.round ?? attempts }
}
