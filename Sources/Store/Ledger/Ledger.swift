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
        ///
        /// What is due later is not among it: a resume or the sweeper brings it.
        package var leased: [NotificationKey: Duration] = [:]
    }

    /// Claims what is owed of these notifications and free to be had, in one statement.
    package func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> Harvest {
        guard !keys.isEmpty else { return Harvest() }
        let rows = try await pool.run(
            LedgerStatements.claim,
            NotificationKey.parameters(keys) + [.integer(claim.number), .integer(lease.milliseconds)]
        )
        var harvest = Harvest()
        for row in rows.indices {
            guard let key = try rows.deliveryKey(row) else { continue }
            let state = try rows.text(row, 6)
            guard try rows.boolean(row, 7) else {
                guard state == DeliveryState.sending.rawValue else { continue }
                let wait = Duration.milliseconds(max(0, try rows.integer(row, 8)))
                harvest.leased[key.notification] = max(wait, harvest.leased[key.notification] ?? .zero)
                continue
            }
            harvest.claimed.append(
                ClaimedDelivery(
                    key: key,
                    attempts: Int(try rows.integer(row, 5)),
                    outcomeWasUnknown: try rows.integer(row, 9) > 0,
                    digest: try rows.optionalText(row, 10).flatMap(Timestamp.init(validating:))
                )
            )
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
            NotificationKey.parameters(settlements.map(\.key.notification)) + [
                .textArray(settlements.map(\.key.channel.rawValue)), .textArray(settlements.map(\.key.target)),
                .textArray(settlements.map(\.state.rawValue)), .textArray(settlements.map(\.reason)),
                .textArray(settlements.map(\.providerMessageID)), .booleanArray(settlements.map(\.burnsAttempt)),
                .integerArray(settlements.map { $0.dueIn?.milliseconds }), .integer(claim.number),
                .booleanArray(settlements.map(\.outcomeIsUnknown)), .jsonArray(settlements.map { $0.wait?.json }),
                .instantArray(settlements.map { $0.sentAt?.microseconds }),
            ]
        )
        return rows.affectedCount
    }
}

extension Duration {
    var milliseconds: Int64 { microseconds / 1000 }
}

extension NotificationKey {
    static func parameters(_ keys: [NotificationKey]) -> [Parameter] {
        [
            .textArray(keys.map(\.recipient.app.text)), .textArray(keys.map(\.recipient.user.text)),
            .textArray(keys.map(\.notification.text)),
        ]
    }
}

extension Rows {
    /// From the columns app, user_id, notification_id; nil where they hold what no program of ours wrote.
    func notificationKey(_ row: Int) throws(PostgresError) -> NotificationKey? {
        guard let app = AppID(validating: try text(row, 0)), let user = UserID(validating: try text(row, 1)),
            let id = NotificationID(validating: try text(row, 2))
        else { return nil }
        return NotificationKey(recipient: RecipientKey(app: app, user: user), notification: id)
    }

    /// From the columns app, user_id, notification_id, channel, target.
    func deliveryKey(_ row: Int) throws(PostgresError) -> DeliveryKey? {
        guard let notification = try notificationKey(row), let channel = Channel(rawValue: try text(row, 3)) else {
            return nil
        }
        return DeliveryKey(notification: notification, channel: channel, target: try text(row, 4))
    }
}
