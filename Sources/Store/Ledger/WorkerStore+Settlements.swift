import BellhopRules
package import Postgres

extension WorkerStore {
    /// Settles the deliveries that still have this claim, in one statement, and returns their number.
    ///
    /// The claim may come from `claim`, from the statement that recorded the delivery, or from `claimReceipts`.
    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        guard !settlements.isEmpty else { return 0 }
        return try await pool.withConnection { (connection) throws(PostgresError) in
            let history = connection.history
            // A method of the element, or a loop over the elements, would copy each of them.
            let isKnown = { settlements[$0].key.notification.recipient.number?.history == history }
            let areKnown = settlements.indices.allSatisfy(isKnown)
            let known = areKnown ? settlements : settlements.indices.filter(isKnown).map { settlements[$0] }
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
        let arePlain = settlements.indices.allSatisfy { settlements[$0].isPlainDelivery }
        let delivered = arePlain ? settlements : settlements.filter(\.isPlainDelivery)
        let others = arePlain ? [] : settlements.filter { !$0.isPlainDelivery }
        var statements: [(statement: Statement, parameters: [Parameter])] = []
        if !delivered.isEmpty {
            let ids: Parameter = .textArray(delivered.indices.map { delivered[$0].providerMessageID })
            statements.append((Self.deliver, keys(delivered, claim) + [ids]))
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
            statements.append((Self.settle, keys(others, claim) + columns))
        }
        return try connection.pipeline(statements).reduce(0) { $0 + $1.affectedCount }
    }

    /// Returns the numbers of users, notifications and targets, the primary key of the ledger, and the claim.
    ///
    /// The users' numbers must come from the history of the querying session.
    private static func keys(_ settlements: [Settlement], _ claim: Claim) -> [Parameter] {
        var people = ArrayParameter(.bigint, expecting: settlements.count)
        var notifications = ArrayParameter(.bigint, expecting: settlements.count)
        var targets = ArrayParameter(.bigint, expecting: settlements.count)
        // A loop over the elements would copy each of them.
        for place in settlements.indices {
            people.append(settlements[place].key.notification.recipient.number?.value)
            notifications.append(settlements[place].key.notification.notification.number)
            targets.append(TargetNumber.number(of: settlements[place].key.target))
        }
        return [.column(people), .column(notifications), .column(targets), .integer(claim.number)]
    }

    /// Settles only deliveries with this claim.
    ///
    /// A delivery that was taken over after the lease belongs to another claim.
    ///
    /// A delivery that was claimed by the statement that recorded it has that time as its turn, unless another turn is
    /// given. A delivery in a backlog gets the urgency of its place there: a replay has a lower urgency than its type.
    ///
    /// An accepted delivery keeps its send time, and any other settlement removes it: `sent_at` separates the two for
    /// the indexes.
    private static let settle = Statement(
        """
        UPDATE ledger d
        SET state = s.state::"char", reason = s.reason, attempts = least(d.attempts + s.burns::integer, 32000),
            unknown_sends = least(d.unknown_sends + s.is_unknown::integer, 32000),
            provider_message_id = coalesce(s.provider_message_id, d.provider_message_id),
            due_at = now() + s.due_in * interval '1 ms', decision = CASE
                WHEN s.decision IS NULL THEN d.decision ELSE coalesce(d.decision, '{}') || s.decision END,
            sent_at = CASE s.state WHEN 'a' THEN coalesce(s.sent_at, d.sent_at, now()) END,
            outlet = s.outlet, updated_at = now(), claim = NULL,
            queued_at = CASE WHEN s.outlet IS NOT NULL THEN coalesce(s.queued_at, d.updated_at) END,
            urgency = coalesce(s.urgency, d.urgency)
        FROM (
            SELECT unnest($1::bigint[]) AS person, unnest($2::bigint[]) AS id, unnest($3::bigint[]) AS target,
                   unnest($5::text[]) AS state, unnest($6::text[]) AS reason, unnest($7::text[]) AS provider_message_id,
                   unnest($8::boolean[]) AS burns, unnest($9::bigint[]) AS due_in, unnest($10::boolean[]) AS is_unknown,
                   unnest($11::jsonb[]) AS decision, unnest($12::timestamptz[]) AS sent_at,
                   unnest($13::text[]) AS outlet, unnest($14::timestamptz[]) AS queued_at,
                   unnest($15::bigint[]) AS urgency
        ) AS s
        WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target AND \(isOwn)
        """
    )

    /// Settles deliveries that the provider simply accepted, which are nearly all.
    private static let deliver = Statement(
        """
        UPDATE ledger d
        SET state = 'd', reason = NULL, attempts = least(d.attempts + 1, 32000),
            provider_message_id = coalesce(s.provider_message_id, d.provider_message_id),
            due_at = NULL, sent_at = NULL, updated_at = now(), claim = NULL
        FROM (
            SELECT unnest($1::bigint[]) AS person, unnest($2::bigint[]) AS id, unnest($3::bigint[]) AS target,
                   unnest($5::text[]) AS provider_message_id
        ) AS s
        WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target AND \(isOwn)
        """
    )

    private static let isOwn = "d.claim = $4 AND d.state IN ('s', 'a')"
}

extension Settlement {
    /// Whether the provider accepted the delivery at this attempt and nothing else must be stored.
    fileprivate var isPlainDelivery: Bool {
        state == .delivered && reason == nil && burnsAttempt && !outcomeIsUnknown && wait == nil
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
