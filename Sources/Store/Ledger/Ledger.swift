import BellhopRules
package import Postgres
import ServiceRuntime

/// The table `ledger`: it alone decides what is still owed.
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

        package init() {}

        /// Adds what was claimed of other notifications.
        package static func += (harvest: inout Harvest, more: Harvest) {
            harvest.claimed += more.claimed
            harvest.leased.merge(more.leased, uniquingKeysWith: min)
            harvest.retrying.merge(more.retrying, uniquingKeysWith: min)
            harvest.locked.formUnion(more.locked)
        }
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
            let isWhole = rows.isEmpty ? false : try rows.integer(0, 9) == Int64(rows.count)
            guard !isWhole else { return (rows, nil as Rows?) }
            return (rows, try connection.run(LedgerStatements.unclaimed, named + [.integer(claim.number)]))
        }
        var harvest = Harvest()
        var seen: Set<LinePlace> = []
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices) else { continue }
            var notification = keys[place]
            notification.recipient.number = try rows.personNumber(row, 1)
            let target = try rows.integer(row, 2)
            if unclaimed != nil { seen.insert(LinePlace(notification: place, target: target)) }
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
            let line = LinePlace(notification: place, target: try unclaimed.integer(row, 1))
            if !seen.contains(line) { harvest.locked.insert(keys[place]) }
        }
        return harvest
    }

    /// Lets the sweeper bring back what is owed of these notifications and waits for a resume, or is a first attempt of
    /// another's claim: each when it is due, or when that claim's lease has ended.
    ///
    /// - Returns: those with a first attempt that could not be looked at, since another statement had a lock on it.
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

    /// A line of a notification, by its place in a batch.
    private struct LinePlace: Hashable {
        let notification: Int
        let target: Int64
    }

    /// Settles what this claim still holds, in one statement; the number of lines that it did.
    ///
    /// A claim is one of `claim`, of the statement that recorded the line, or of `ReceiptBook.claim`.
    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        guard !settlements.isEmpty else { return 0 }
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let history = connection.history
            let areKnown = settlements.allSatisfy { $0.isNumbered(in: history) }
            let known = areKnown ? settlements : settlements.filter { $0.isNumbered(in: history) }
            let count = known.isEmpty ? 0 : try Self.settle(known, claim, on: connection)
            guard count < settlements.count else { return count }
            // Some have no number that is valid here, or have another one since: an erasure ends it, and who comes back gets
            // a new one.
            let people = settlements.map(\.key.notification.recipient)
            let numbers = try People.numbers(of: people, on: connection)
            let renumbered = settlements.compactMap { $0.renumbered(by: numbers) }
            return renumbered.isEmpty ? count : count + (try Self.settle(renumbered, claim, on: connection))
        }
    }

    /// Of users who were looked up: what was simply taken has a statement of its own.
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
    /// It was taken at this attempt, and there is nothing else to write down.
    fileprivate var isPlainDelivery: Bool {
        state == .delivered && reason == nil && burnsAttempt && !outcomeIsUnknown && wait == nil
    }

    fileprivate func isNumbered(in history: DatabaseHistory) -> Bool {
        key.notification.recipient.number?.history == history
    }

    /// Nil where that is no news.
    fileprivate func renumbered(by numbers: [RecipientKey: PersonNumber]) -> Settlement? {
        let person = key.notification.recipient
        guard let number = numbers[person], number != person.number else { return nil }
        var settlement = self
        settlement.key.notification.recipient.number = number
        return settlement
    }
}

extension Ledger.Harvest {
    /// A line that is not free yet, for so many milliseconds.
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
    /// From a row of `LedgerStatements.claim`.
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
