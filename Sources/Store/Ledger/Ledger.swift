import BellhopRules
package import Postgres
import ServiceRuntime

/// The table `deliveries`: it alone decides what is still owed.
///
/// Times are the database's.
package struct Ledger: Sendable {
    private let pool: PostgresPool
    /// How long a claim holds; longer than any request to a provider may take.
    private let lease: Duration

    package init(pool: PostgresPool, lease: Duration) {
        self.pool = pool
        self.lease = lease
    }

    /// What a claim brought.
    package struct Harvest: Sendable {
        package var claimed: [ClaimedDelivery] = []
        /// What another claimer holds, with the time until its lease ends.
        package var leased: [NotificationKey: Duration] = [:]
        /// What waits in a retry tier, with the time until it is due.
        ///
        /// Its resume is under way, unless whoever settled it died before that was published.
        package var retrying: [NotificationKey: Duration] = [:]
        /// What could not be looked at, since another statement had a lock on it.
        package var locked: Set<NotificationKey> = []
    }

    /// Claims what is owed of these notifications and free to be had, in one statement; where that had to leave something
    /// out, a second one looks what it was.
    ///
    /// What is `deferred` and not due is in none of the answers: the sweeper brings it, or who pulls it from its backlog.
    package func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> Harvest {
        guard !keys.isEmpty else { return Harvest() }
        let named = NotificationKey.parameters(keys)
        let parameters = named + [.integer(claim.number), .integer(lease.milliseconds)]
        let (rows, unclaimed) = try await pool.withConnection { (connection) throws(PostgresError) in
            let rows = try connection.run(LedgerStatements.claim, parameters)
            let isWhole = rows.isEmpty ? false : try rows.integer(0, 11) == Int64(rows.count)
            guard !isWhole else { return (rows, nil as Rows?) }
            return (rows, try connection.run(LedgerStatements.unclaimed, named + [.integer(claim.number)]))
        }
        var harvest = Harvest()
        var seen: Set<DeliveryKey> = []
        for row in rows.indices {
            guard let key = try rows.deliveryKey(row) else { continue }
            seen.insert(key)
            if try rows.boolean(row, 7) {
                harvest.claimed.append(try ClaimedDelivery(key, rows, row))
            } else {
                harvest.addWaiting(key.notification, state: try rows.text(row, 6), wait: try rows.integer(row, 8))
            }
        }
        guard let unclaimed else { return harvest }
        for row in unclaimed.indices {
            guard let key = try unclaimed.deliveryKey(row), !seen.contains(key) else { continue }
            harvest.locked.insert(key.notification)
        }
        return harvest
    }

    /// Settles what this claim still holds, in one statement; the number of lines that it did.
    ///
    /// A claim is one of `claim`, of the statement that recorded the line, or of `ReceiptBook.claim`.
    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        guard !settlements.isEmpty else { return 0 }
        let rows = try await pool.run(
            LedgerStatements.settle,
            DeliveryKey.parameters(settlements.map(\.key)) + [
                .textArray(settlements.map(\.state.rawValue)), .textArray(settlements.map(\.reason)),
                .textArray(settlements.map(\.providerMessageID)), .booleanArray(settlements.map(\.burnsAttempt)),
                .integerArray(settlements.map { $0.dueIn?.milliseconds }), .integer(claim.number),
                .booleanArray(settlements.map(\.outcomeIsUnknown)), .jsonArray(settlements.map { $0.wait?.json }),
                .instantArray(settlements.map { $0.sentAt?.microseconds }),
                .textArray(settlements.map { $0.backlog?.place.key.text }),
                .instantArray(settlements.map { $0.backlog?.queuedAt?.microseconds }),
            ]
        )
        return rows.affectedCount
    }
}

extension Ledger.Harvest {
    /// A line that is not free yet, for so many milliseconds.
    fileprivate mutating func addWaiting(_ key: NotificationKey, state: String, wait: Int64) {
        let wait = Duration.milliseconds(max(0, wait))
        switch DeliveryState(rawValue: state) {
        case .sending: leased[key] = max(wait, leased[key] ?? .zero)
        case .retrying: retrying[key] = min(wait, retrying[key] ?? wait)
        default: break
        }
    }
}

extension ClaimedDelivery {
    /// From a row of `LedgerStatements.claim`.
    fileprivate init(_ key: DeliveryKey, _ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            key: key,
            attempts: try rows.number(row, 5),
            outcomeWasUnknown: try rows.integer(row, 9) > 0,
            digest: try rows.optionalText(row, 10).flatMap(Timestamp.init(validating:))
        )
    }
}

extension Duration {
    var milliseconds: Int64 { microseconds / 1000 }
}
