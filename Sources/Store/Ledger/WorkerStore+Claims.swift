import BellhopRules
package import Postgres
import ServiceRuntime

/// The result of a claim.
package struct ClaimResult: Sendable {
    package var claimed: [ClaimedDelivery] = []
    /// Notifications with deliveries that another batch has claimed, with the time until the lease ends.
    package var leased: [NotificationKey: Duration] = [:]
    /// Notifications with deliveries in a retry tier, with the time until they are due.
    ///
    /// Their resume message is in flight, unless the settling process died before it published the message.
    package var retrying: [NotificationKey: Duration] = [:]
    /// Notifications with deliveries that could not be read, since another statement had locked them.
    package var locked: Set<NotificationKey> = []

    package init() {}

    /// Adds the result of a claim on other notifications.
    package static func += (harvest: inout ClaimResult, more: ClaimResult) {
        harvest.claimed += more.claimed
        harvest.leased.merge(more.leased, uniquingKeysWith: min)
        harvest.retrying.merge(more.retrying, uniquingKeysWith: min)
        harvest.locked.formUnion(more.locked)
    }
}

/// The table `ledger`, the only record of open work.
///
/// Times are those of the database clock.
extension WorkerStore {
    /// Claims the open and available deliveries of these notifications, in one statement.
    ///
    /// If that statement skipped locked rows, a second one identifies them.
    ///
    /// A `deferred` delivery that is not due is not part of the result: the sweeper releases it, or a worker pulls it
    /// from its backlog.
    package func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> ClaimResult {
        guard !keys.isEmpty else { return ClaimResult() }
        let named = NotificationKey.parameters(keys)
        let parameters = named + [.integer(claim.number), .integer(lease.milliseconds)]
        let (rows, unclaimed) = try await pool.withConnection { (connection) throws(PostgresError) in
            let rows = try connection.run(Self.claim, parameters)
            let isWhole = rows.isEmpty ? false : try rows.integer(0, 9) == Int64(rows.count)
            guard !isWhole else { return (rows, nil as Rows?) }
            return (rows, try connection.run(Self.unclaimed, named + [.integer(claim.number)]))
        }
        var harvest = ClaimResult()
        var seen: Set<LinePosition> = []
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices) else { continue }
            var notification = keys[place]
            notification.recipient.number = try rows.personNumber(row, 1)
            let target = try rows.integer(row, 2)
            if unclaimed != nil { seen.insert(LinePosition(notification: place, target: target)) }
            if try rows.boolean(row, 5) {
                let key = DeliveryKey(notification, target: target)
                harvest.claimed.append(try ClaimedDelivery(key, rows, row))
            } else {
                harvest.addWaiting(notification, letter: try rows.text(row, 4), wait: try rows.integer(row, 6))
            }
        }
        guard let unclaimed else { return harvest }
        for row in unclaimed.indices {
            guard let place = try unclaimed.place(row, 0, in: keys.indices) else { continue }
            let line = LinePosition(notification: place, target: try unclaimed.integer(row, 1))
            if !seen.contains(line) { harvest.locked.insert(keys[place]) }
        }
        return harvest
    }

    /// Makes open deliveries of these notifications visible to the sweeper, if they wait for a resume message or are
    /// first attempts under another claim.
    ///
    /// Each is released when it is due, or when that claim's lease has ended.
    ///
    /// - Returns: The notifications with a first attempt that is still not visible, since another statement had locked
    ///   it.
    package func leaveToSweeper(_ keys: [NotificationKey]) async throws(PostgresError) -> Set<NotificationKey> {
        guard !keys.isEmpty else { return [] }
        let named = NotificationKey.parameters(keys)
        let leave = named + [.integer(lease.milliseconds)]
        let rows = try await pool.withConnection { (connection) throws(PostgresError) in
            _ = try connection.run(Self.leave, leave)
            return try connection.run(Self.unseen, named)
        }
        return Set(
            try rows.compactMap { (rows, row) throws(PostgresError) in
                try rows.place(row, 0, in: keys.indices).map { keys[$0] }
            }
        )
    }

    /// A delivery, identified by its notification's position in a batch and by its target.
    private struct LinePosition: Hashable {
        let notification: Int
        let target: Int64
    }

    /// The open deliveries (`d`) of the notifications (`k`) that ``NotificationKey/named`` selects.
    ///
    /// Deliveries in a backlog are excluded and not locked, since only a pull may claim them. Otherwise a digest would
    /// be split in two.
    private static let owed = """
        FROM \(NotificationKey.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state IN (\(DeliveryState.owed)) AND d.outlet IS NULL
        """

    /// Claims the available deliveries, and returns the others with the time until they are available.
    ///
    /// If an answer was lost, a repeat with the same claim returns the deliveries that it already has.
    ///
    /// If the lease of another claim on a `sending` delivery has ended, this claim takes the delivery over. Before
    /// anything is sent, it records that the outcome is unknown. `due_at`, the end of the lease, keeps the delivery
    /// visible to the sweeper until it is settled. The statement does not wait for locks: `unclaimed` finds the rows
    /// that it skipped. The last column is the number of open deliveries. It equals the number of rows if none was
    /// skipped.
    ///
    /// Another claimer's first attempt has no due time. Since its message was redelivered, that claimer may be dead, so
    /// the statement makes the delivery visible to the sweeper.
    private static let claim = Statement(
        """
        WITH owed AS (
            SELECT k.position, d.person, d.id, d.target, d.attempts, d.decision,
                   least(d.unknown_sends + (d.state = 's' AND d.claim IS DISTINCT FROM $4)::integer, 32000)
                       AS unknown_sends,
                   CASE WHEN d.claim = $4 THEN 'p' ELSE d.state END AS state,
                   CASE d.state
                       WHEN 'p' THEN true
                       WHEN 's' THEN d.claim = $4 OR d.updated_at + $5::bigint * interval '1 ms' <= now()
                       ELSE coalesce(d.due_at <= now() + interval '1 s', false)
                   END AS is_free,
                   CASE d.state
                       WHEN 's' THEN d.updated_at + $5::bigint * interval '1 ms'
                       ELSE coalesce(d.due_at, now())
                   END AS free_at, d.state = 's' AND d.due_at IS NULL AS is_unseen
            \(owed)
            ORDER BY k.person, k.id, d.target + 0
            FOR UPDATE OF d SKIP LOCKED
        ), taken AS (
            UPDATE ledger d
            SET state = 's', claim = $4, unknown_sends = o.unknown_sends, updated_at = now(),
                due_at = now() + $5::bigint * interval '1 ms' + \(Claim.afterLease)
            FROM owed o
            WHERE o.is_free AND d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        ), shown AS (
            UPDATE ledger d SET due_at = o.free_at + \(Claim.afterLease)
            FROM owed o
            WHERE NOT o.is_free AND o.is_unseen
              AND d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        )
        SELECT position, person, target, attempts::bigint, state::text, is_free,
               ceil(extract(epoch FROM free_at - now()) * 1000)::bigint, unknown_sends::bigint,
               decision ->> '\(Wait.slotKey)', (SELECT count(*) \(owed))
        FROM owed
        """
    )

    /// The open deliveries of these notifications without this claim.
    ///
    /// A delivery in this result that `claim` did not return was locked by another statement. If that statement's
    /// worker has died, the lock ends without a change, and no other process may take care of the delivery.
    private static let unclaimed = Statement(
        "SELECT k.position, d.target \(owed) AND d.claim IS DISTINCT FROM $4",
        effect: .reads
    )

    /// Makes deliveries visible to the sweeper if possibly no message returns them: retries with an unconfirmed resume,
    /// and other claimers' first attempts.
    ///
    /// Each keeps its due time; if it has none, it gets the end of the claim's lease.
    ///
    /// The statement does not wait for locks: a locked retry is about to be claimed by another batch, and ``unseen``
    /// finds the rest.
    private static let leave = Statement(
        """
        WITH open AS (
            SELECT d.person, d.id, d.target
            FROM \(NotificationKey.named) AS k
            JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
            WHERE d.outlet IS NULL AND (d.state = 'r' OR d.state = 's' AND d.due_at IS NULL)
            ORDER BY k.person, k.id, d.target + 0
            FOR UPDATE OF d SKIP LOCKED
        )
        UPDATE ledger d
        SET state = CASE d.state WHEN 'r' THEN 'w' ELSE d.state END,
            due_at = coalesce(d.due_at, d.updated_at + $4::bigint * interval '1 ms' + \(Claim.afterLease))
        FROM open o
        WHERE d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        """
    )

    private static let unseen = Statement(
        """
        SELECT k.position
        FROM \(NotificationKey.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state = 's' AND d.due_at IS NULL
        """,
        effect: .reads
    )
}

extension ClaimResult {
    /// Adds a delivery that is not available for `wait` milliseconds.
    fileprivate mutating func addWaiting(_ key: NotificationKey, letter: String, wait: Int64) {
        let wait = Duration.milliseconds(max(0, wait))
        switch DeliveryState(letter: letter) {
        case .sending: leased[key] = max(wait, leased[key] ?? .zero)
        case .retrying: retrying[key] = min(wait, retrying[key] ?? wait)
        default: break
        }
    }
}

extension ClaimedDelivery {
    /// Creates a delivery from a row of the claiming statement.
    fileprivate init(_ key: DeliveryKey, _ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            key: key,
            attempts: try rows.number(row, 3),
            outcomeWasUnknown: try rows.integer(row, 7) > 0,
            digest: try rows.optionalText(row, 8).flatMap(Timestamp.init(validating:))
        )
    }
}

extension Duration {
    var milliseconds: Int64 { microseconds / 1000 }
}
