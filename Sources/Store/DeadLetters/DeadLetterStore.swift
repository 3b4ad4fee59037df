package import Postgres
package import ServiceRuntime
package import Settings

/// Stores the messages of the dead-letter queue in the table `dead_letters`, for the dead-letter filer.
package struct DeadLetterStore: Sendable {
    private let pool: PostgresPool

    /// The limit in bytes for bodies that are stored or read together, unless a single body is larger.
    ///
    /// A dead letter may have 16 MiB; most have a thousandth of that.
    package static let pageBytes = 8 << 20

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Stores a batch in one transaction, each item once, and returns the number of new items.
    ///
    /// If a redelivered message became a dead letter and an item with the same content exists, both are considered the
    /// same message: its worker died between the dead letter's confirm and the acknowledgement. The item's `copies`
    /// count is increased instead. The copies may also arrive in reverse order: while the broker is unavailable, a
    /// worker keeps its dead letter, and the redelivered message may produce the next one first.
    ///
    /// A failure after a replay creates no new item: the stored item opens again with one more death. Repeated dead
    /// letters without an id do not create one either: see ``ContentIdentifiedDeadLetters``. Users who have been erased
    /// are left out.
    package func file(_ items: [DeadLetterItem]) async throws(PostgresError) -> Int {
        guard !items.isEmpty else { return 0 }
        return try await pool.transaction { (connection) throws(PostgresError) in
            let spared = try ErasedUserDeadLetters.spare(items, connection)
            let known = try ReplayedDeadLetters.count(spared, connection)
            let unknown = zip(spared, known).filter { !$1 }.map(\.0)
            let named = unknown.filter { $0.identity == .letter }
            let firsts = named.filter { !$0.redelivered }
            let repeats = named.filter { $0.redelivered }
            var filed = try ContentIdentifiedDeadLetters.file(unknown.filter { $0.identity == .content }, connection)
            let overtaken = try Self.countOvertaken(firsts, connection)
            let fresh = firsts.filter { !overtaken.contains($0.deadID) }
            if !fresh.isEmpty { filed += try connection.run(Self.insert, Self.parameters(of: fresh)).count }
            // One at a time, since two redelivered items in one batch may be copies of each other. They are rare.
            for item in repeats {
                let seen = try connection.run(
                    Self.countCopy,
                    [.bytes(item.contentHash), .text(item.deadID), .instant(item.failedAt.microseconds)]
                )
                if seen.isEmpty { filed += try connection.run(Self.insert, Self.parameters(of: [item])).count }
            }
            return filed
        }
    }

    /// Finds items for which a later dead letter of the same message is stored.
    ///
    /// Counts them as copies of it and returns their ids.
    private static func countOvertaken(
        _ items: [DeadLetterItem],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> Set<String> {
        guard !items.isEmpty else { return [] }
        let pairs = try connection.run(
            lookUpOvertaking,
            [
                .textArray(items.map(\.deadID)), .bytesArray(items.map(\.contentHash)),
                .instantArray(items.map { $0.failedAt.microseconds }),
            ]
        )
        var overtaken: Set<String> = []
        for row in pairs.indices {
            _ = try connection.run(countCopyOf, [.text(try pairs.text(row, 1))])
            overtaken.insert(try pairs.text(row, 0))
        }
        return overtaken
    }

    static func parameters(of items: [DeadLetterItem]) -> [Parameter] {
        let failedAt = Parameter.instantArray(items.map { $0.failedAt.microseconds })
        let names: [Parameter] = [
            .textArray(items.map { $0.replay?.item ?? $0.deadID }), .textArray(items.map(\.fingerprint)),
        ]
        let causes = DeadLetterCause.parameters(DeadLetterCause.Member.allCases, of: items.map(\.namedCause))
        let origins: [Parameter] = [
            .integerArray(items.map { Int64($0.attempts) }), failedAt, failedAt,
            .textArray(items.map(\.origin.exchange)), .textArray(items.map(\.origin.routingKey)),
            .jsonArray(items.map(\.origin.properties)), .jsonArray(items.map(\.origin.headers)),
            .bytesArray(items.map(\.origin.body)), .bytesArray(items.map(\.contentHash)),
        ]
        let deliveries: [Parameter] = [
            .textArray(items.map { $0.delivery?.notification.notification.text }),
            .textArray(items.map { $0.delivery?.channel.rawValue }), .textArray(items.map { $0.delivery?.target }),
            .integerArray(items.map { Int64($0.replay?.round ?? 0) }), .textArray(items.map(\.peopleHashes)),
        ]
        return names + causes + origins + deliveries
    }

    static let insert = Statement(
        """
        INSERT INTO dead_letters
            (dead_id, fingerprint, \(DeadLetterCause.columns()), attempts,
             first_failed_at, last_failed_at, origin_exchange, origin_routing_key, properties, headers, body,
             content_hash, notification_id, channel, target, deaths, replays, people)
        SELECT dead_id, fingerprint, \(DeadLetterCause.columns()), attempts,
               first_failed_at, last_failed_at, origin_exchange, origin_routing_key, properties, headers, body,
               content_hash, notification_id, channel, target, replays + 1, replays,
               coalesce(string_to_array(people, ','), '{}')
        FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::bigint[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::text[],
            $17::jsonb[], $18::jsonb[], $19::bytea[], $20::bytea[], $21::text[], $22::text[], $23::text[],
            $24::bigint[], $25::text[])
            AS letter (dead_id, fingerprint, \(DeadLetterCause.columns()), attempts, first_failed_at, last_failed_at,
                       origin_exchange, origin_routing_key, properties, headers, body, content_hash, notification_id,
                       channel, target, replays, people)
        ON CONFLICT DO NOTHING
        RETURNING dead_id
        """
    )

    /// Counts a copy of the oldest open or replaying item with this content, or of one that was closed after this dead
    /// letter was written.
    ///
    /// If there is none, the message is new: a failure after an item was closed must not be hidden by that item.
    ///
    /// The same dead id again is a redelivery to the filer and is not counted. At most one open and one closed item are
    /// read, however many have this content.
    private static let countCopy = Statement(
        """
        UPDATE dead_letters SET copies = copies + 1
        WHERE NOT EXISTS (SELECT FROM dead_letters WHERE dead_id = $2::text)
          AND dead_id = coalesce(
            (SELECT dead_id FROM dead_letters WHERE content_hash = $1 AND state IN ('open', 'replaying')
             ORDER BY filed_at, dead_id LIMIT 1),
            (SELECT dead_id FROM (
                SELECT dead_id, changed_at FROM dead_letters WHERE content_hash = $1 AND state IN ('resolved', 'discarded')
                ORDER BY changed_at DESC LIMIT 1) AS closed
             WHERE closed.changed_at > $3::timestamptz))
        RETURNING dead_id
        """
    )

    /// Selects for each item a stored item with the same content that failed later and had been redelivered.
    private static let lookUpOvertaking = Statement(
        """
        SELECT late.dead_id, filed.dead_id
        FROM unnest($1::text[], $2::bytea[], $3::timestamptz[]) AS late (dead_id, content_hash, failed_at)
        CROSS JOIN LATERAL (
            SELECT d.dead_id FROM dead_letters d
            WHERE d.content_hash = late.content_hash AND d.attempts > 1 AND d.first_failed_at > late.failed_at
            ORDER BY d.first_failed_at LIMIT 1
        ) AS filed
        WHERE filed.dead_id <> late.dead_id
        """
    )

    private static let countCopyOf = Statement("UPDATE dead_letters SET copies = copies + 1 WHERE dead_id = $1")
}

extension DeadLetterItem {
    /// The cause.
    ///
    /// If it names no user and the message is for a single user, that user is added.
    package var namedCause: DeadLetterCause {
        var named = cause
        named.user = cause.user ?? DeadLetterAudience(of: self).only?.text
        return named
    }
}

/// Deletes closed items after their retention period, in small batches.
///
/// Open items are never deleted.
package struct DeadLetterRetentionStore: Sendable {
    private let pool: PostgresPool
    private let retention: DeadLetterRetention

    package init(pool: PostgresPool, retention: DeadLetterRetention) {
        self.pool = pool
        self.retention = retention
    }

    /// Deletes one batch, with an audit entry, and returns the number of items.
    ///
    /// The age is computed from the earlier of `latest` and the database clock, so that a wrong clock deletes nothing
    /// early.
    package func deleteBatch(notBeyond latest: Instant = SystemTime().now() + .seconds(60)) async throws(PostgresError)
        -> Int
    {
        let rows = try await pool.run(
            Self.delete,
            [
                .integer(retention.span.milliseconds), .boolean(retention.includesUnexported),
                .text("kept for \(retention.span.shortText)"), .instant(latest.microseconds),
            ]
        )
        return try rows.number(0, 0)
    }

    /// Deletes replays that ended before the same period, with their lists of items.
    package func forgetReplays(
        notBeyond latest: Instant = SystemTime().now() + .seconds(60)
    ) async throws(PostgresError) {
        _ = try await pool.run(
            "DELETE FROM replays WHERE finished_at < least(now(), $2::timestamptz) - $1::bigint * interval '1 ms'",
            [.integer(retention.span.milliseconds), .instant(latest.microseconds)]
        )
    }

    private static let delete = Statement(
        """
        WITH gone AS (
            DELETE FROM dead_letters d USING (
                SELECT dead_id FROM dead_letters
                WHERE state IN ('resolved', 'discarded') AND changed_at < least(now(), $4::timestamptz) - $1::bigint * interval '1 ms'
                  AND replay_id IS NULL AND (exported_at IS NOT NULL OR $2::boolean)
                ORDER BY changed_at LIMIT 1000 FOR UPDATE SKIP LOCKED
            ) AS old
            WHERE d.dead_id = ANY (ARRAY[old.dead_id])
            RETURNING d.dead_id
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT 'bellhop', \(AuditAct.delete.sql), '{"states": ["discarded", "resolved"]}', count(*), $3::text FROM gone
            HAVING count(*) > 0
        )
        SELECT count(*) FROM gone
        """
    )
}
