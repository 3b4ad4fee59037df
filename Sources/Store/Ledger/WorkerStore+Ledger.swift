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
            let rows = try connection.run(LedgerStatements.claim, parameters)
            let isWhole = rows.isEmpty ? false : try rows.integer(0, 9) == Int64(rows.count)
            guard !isWhole else { return (rows, nil as Rows?) }
            return (rows, try connection.run(LedgerStatements.unclaimed, named + [.integer(claim.number)]))
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
            _ = try connection.run(LedgerStatements.leave, leave)
            return try connection.run(LedgerStatements.unseen, named)
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

    /// Settles the deliveries that still have this claim, in one statement, and returns their number.
    ///
    /// The claim may come from `claim`, from the statement that recorded the delivery, or from `claimReceipts`.
    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        guard !settlements.isEmpty else { return 0 }
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let history = connection.history
            let areKnown = settlements.allSatisfy { $0.isNumbered(in: history) }
            let known = areKnown ? settlements : settlements.filter { $0.isNumbered(in: history) }
            let count = known.isEmpty ? 0 : try Self.settle(known, claim, on: connection)
            guard count < settlements.count else { return count }
            // Some users have no number that is valid in this history, or have a new number: an erasure ends a number,
            // and a user who returns gets a new one.
            let people = settlements.map(\.key.notification.recipient)
            let numbers = try UserNumbers.numbers(of: people, on: connection)
            let renumbered = settlements.compactMap { $0.renumbered(by: numbers) }
            return renumbered.isEmpty ? count : count + (try Self.settle(renumbered, claim, on: connection))
        }
    }

    /// Settles deliveries of users whose numbers are known.
    ///
    /// Plain deliveries have a separate statement.
    private static func settle(
        _ settlements: [Settlement],
        _ claim: Claim,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Int {
        let arePlain = settlements.allSatisfy(\.isPlainDelivery)
        let delivered = arePlain ? settlements : settlements.filter(\.isPlainDelivery)
        let others = arePlain ? [] : settlements.filter { !$0.isPlainDelivery }
        var statements: [(statement: Statement, parameters: [Parameter])] = []
        if !delivered.isEmpty {
            let ids: Parameter = .textArray(delivered.map(\.providerMessageID))
            statements.append((LedgerStatements.deliver, keys(delivered, claim) + [ids]))
        }
        if !others.isEmpty {
            let columns: [Parameter] = [
                .textArray(others.map(\.state.letter)), .textArray(others.map(\.reason)),
                .textArray(others.map(\.providerMessageID)), .booleanArray(others.map(\.burnsAttempt)),
                .integerArray(others.map { $0.dueIn?.milliseconds }), .booleanArray(others.map(\.outcomeIsUnknown)),
                .jsonArray(others.map { $0.wait?.json }), .instantArray(others.map { $0.sentAt?.microseconds }),
                .textArray(others.map { $0.backlog?.place.key.text }),
                .instantArray(others.map { $0.backlog?.queuedAt?.microseconds }),
                .integerArray(others.map { $0.backlog?.place.priority.urgency }),
            ]
            statements.append((LedgerStatements.settle, keys(others, claim) + columns))
        }
        return try connection.pipeline(statements).reduce(0) { $0 + $1.affectedCount }
    }

    private static func keys(_ settlements: [Settlement], _ claim: Claim) -> [Parameter] {
        DeliveryKey.ledgerParameters(settlements.lazy.map(\.key)) + [.integer(claim.number)]
    }
}

extension Settlement {
    /// Whether the provider accepted the delivery at this attempt and nothing else must be stored.
    fileprivate var isPlainDelivery: Bool {
        state == .delivered && reason == nil && burnsAttempt && !outcomeIsUnknown && wait == nil
    }

    fileprivate func isNumbered(in history: DatabaseHistory) -> Bool {
        key.notification.recipient.number?.history == history
    }

    /// Returns the settlement with the user's current number; `nil` if the number is unknown or has not changed.
    fileprivate func renumbered(by numbers: [UserKey: PersonNumber]) -> Settlement? {
        let person = key.notification.recipient
        guard let number = numbers[person], number != person.number else { return nil }
        var settlement = self
        settlement.key.notification.recipient.number = number
        return settlement
    }
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
    /// Creates a delivery from a row of `LedgerStatements.claim`.
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
