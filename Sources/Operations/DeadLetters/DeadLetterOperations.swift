package import BellhopRules
import Pipeline
import ServiceRuntime
import Settings
package import Store

/// The operators' work on dead letters.
package struct DeadLetterOperations: Sendable {
    package let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
    }

    package var store: DeadLetterAdmin { DeadLetterAdmin(pool: context.pool) }

    // MARK: - Selection

    /// Returns the filter that the fields define, with the items that they name by prefixes of their ids.
    package func filter(_ input: DeadLetterInput) async throws -> DeadLetterFilter {
        var filter = try DeadLetterFilter(input)
        try await filter.expectKnownNames { try await store.has($0, $1) }
        if let prefix = filter.fingerprint { filter.fingerprint = try await fingerprint(prefix, input) }
        for text in input.fields.items { filter.ids.append(try await item(text, input)) }
        return filter
    }

    /// Returns the filter of an act, limited to items that were filed by the time of the agreement.
    func filterOfAct(_ input: DeadLetterInput, asOf: Timestamp?) async throws -> DeadLetterFilter {
        var filter = try await filter(input)
        try input.expectChoice(filter)
        filter.filedBy = asOf
        return filter
    }

    /// Returns the fingerprint with this prefix, which must be unique.
    private func fingerprint(_ text: String, _ input: DeadLetterInput) async throws -> String {
        let found = try await store.fingerprints(beginningWith: text, atMost: 2)
        guard found.count > 1, !found.contains(text) else { return found.first ?? text }
        let message = "several groups begin like this, such as \(found[0]) and \(found[1])"
        throw input.error(.refused, message, advice: "give more characters", about: text)
    }

    /// Returns the id with this prefix, which must be unique.
    private func item(_ text: String, _ input: DeadLetterInput) async throws -> String {
        let ids = try await store.ids(beginningWith: text, atMost: 3)
        if ids.contains(text) { return text }
        guard let only = ids.first else {
            let advice = "bellhop dead-letters list shows all items"
            throw input.error(.notPossible, "unknown item", advice: advice, about: text)
        }
        guard ids.count == 1 else {
            let message = "several items begin like this, such as \(ids[0]) and \(ids[1])"
            throw input.error(.refused, message, advice: "give more characters", about: text)
        }
        return only
    }

    // MARK: - Reading

    /// Returns the groups of dead letters, the largest first.
    package func groups(_ input: DeadLetterInput) async throws -> DeadLetterGroups {
        try input.expectNoItems()
        return try await store.groups(try await filter(input))
    }

    /// Returns single items, the most recent failures first.
    package func page(_ input: DeadLetterInput) async throws -> DeadLetterPage {
        let filter = try await filter(input)
        let order = try input.fields.optional("sort", "newest, oldest or deaths", DeadLetterOrder.init) ?? .newest
        return try await store.page(filter, atMost: filter.limit ?? Self.usualPage, in: order)
    }

    private static let usualPage = 50

    /// Returns the operators' acts, the most recent first.
    package func audit(_ input: DeadLetterInput) async throws -> AuditLog {
        try input.expectNoItems()
        let limit = try input.fields.number("limit", in: 1...100_000) ?? 50
        var filter = AuditFilter()
        filter.operator = input.fields.text("by")
        filter.act = input.fields.text("act")
        filter.text = input.fields.text("text")
        let entries = try await store.auditLog(filter, atMost: limit)
        // An unfiltered list of the latest acts has all acts that refer to one of them.
        guard filter != AuditFilter(), let first = entries.last else { return try await AuditLog(entries, in: store) }
        let others = try await store.auditReferences(after: first.number)
        return try await AuditLog(entries, referredToBy: others, in: store)
    }

    /// Returns the one item that the fields name, with all its details.
    package func detail(_ input: DeadLetterInput) async throws -> DeadLetterDetail {
        guard input.fields.items.count == 1 else {
            throw OperationError.unfit("\(input.verb) takes one item; list has their names", field: "items")
        }
        let id = try await item(input.fields.items[0], input)
        guard let detail = try await store.detail(id) else {
            throw input.error(.notPossible, "it was deleted at this moment", advice: "look again", about: id)
        }
        return detail
    }

    /// Returns one item with its message.
    ///
    /// Personal data is masked unless an operator reveals it, which the audit records first: a reveal that cannot be
    /// audited must not take place.
    package func show(
        _ detail: DeadLetterDetail,
        revealedBy operator: ActingOperator? = nil,
        now: Timestamp
    ) async throws -> DeadLetterAnswer {
        if let `operator` { try await auditReveal(of: detail, by: `operator`) }
        return DeadLetterAnswer(
            detail,
            event: try await event(of: detail),
            conflict: try await conflict(of: detail),
            isRevealed: `operator` != nil,
            now: now
        )
    }

    /// Records that an operator sees the personal data of an item.
    package func auditReveal(of detail: DeadLetterDetail, by operator: ActingOperator) async throws {
        var filter = DeadLetterFilter()
        filter.ids = [detail.summary.deadID]
        try await store.audit(.reveal, filter, items: 1, by: `operator`)
    }

    /// Returns the differences between the stored event and a later one with the same id.
    private func conflict(of detail: DeadLetterDetail) async throws -> [JSONEdits.Difference] {
        let cause = detail.summary.cause
        guard cause.reason == RejectionReason.idConflict.rawValue,
            let app = cause.app.flatMap(AppID.init(validating:)),
            let user = cause.user.flatMap(UserID.init(validating:)),
            let event = cause.eventID.flatMap(EventID.init(validating:)),
            let later = try? JSONParser().parse(detail.origin.body).get().object
        else { return [] }
        let key = UserKey(app: app, user: user)
        let story = try await NotificationHistoryStore(pool: context.pool).story(of: .event(event), for: key)
        guard let stored = story.record?.notification.content else { return [] }
        let before: [(String, JSONValue)] = [
            ("title", .string(stored.title)), ("body", .string(stored.body)), ("data", .object(stored.data)),
        ]
        // A text from the catalogue's template, in place of a text that the producer left out, does not count as a
        // difference.
        return before.filter { later[$0.0] != nil }.flatMap { name, value in
            JSONEdits.differences(value, later[name], at: JSONPointer.root.key(name))
        }
    }

    /// Returns the notification and the ledger row of a delivery, in their present state.
    private func event(of detail: DeadLetterDetail) async throws -> DeadLetterAnswer.Event? {
        guard let delivery = detail.summary.delivery else { return nil }
        let key = delivery.notification
        let story = try await NotificationHistoryStore(pool: context.pool).story(
            of: .notification(key.notification),
            for: key.recipient
        )
        let line = story.lines.first { $0.channel == delivery.channel.rawValue && $0.target == delivery.target }
        return DeadLetterAnswer.Event(
            notification: story.record?.notification,
            line: line,
            holds: try await holds(on: line, of: detail.summary.cause)
        )
    }

    /// Returns the active holds behind which a delivery waits; none if it does not wait, or for another reason.
    private func holds(on line: DeliveryHistory?, of cause: DeadLetterCause) async throws -> [OperatorHold] {
        guard let line, line.state == .deferred, line.reason == WaitReason.held.rawValue else { return [] }
        return try await HoldAdmin(pool: context.pool).all().filter { hold in
            hold.scope.covers(app: cause.app, provider: cause.provider, type: cause.eventType)
        }
    }
}
