import BellhopJSON
package import BellhopRules
import ServiceRuntime
import Settings
package import Store

/// The operators' acts on holds.
package struct HoldOperations: Sendable {
    let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
    }

    private var store: HoldAdmin { HoldAdmin(pool: context.pool) }

    var heartbeats: HeartbeatStore { HeartbeatStore(pool: context.pool) }

    /// Returns the active holds with the deliveries behind each, of one app or of all.
    package func list(app: String? = nil) async throws -> [HeldDeliveries] {
        try await counted(try await store.all().filter { hold in app.map { hold.scope.app.text == $0 } ?? true })
    }

    private func counted(_ holds: [OperatorHold]) async throws -> [HeldDeliveries] {
        let backlogs = holds.isEmpty ? [] : try await WaitingBacklog.all(on: context.pool)
        return holds.map { HeldDeliveries($0, backlogs, asOf: SystemTime().timestamp) }
    }

    // MARK: - Adding and releasing

    /// Places a hold, and waits until the workers observe it: from then on nothing in its scope is sent.
    package func add(_ scope: HoldScope, by operator: ActingOperator) async throws -> HoldAdded {
        try await observed(try await place(scope, by: `operator`))
    }

    /// A hold in effect that workers may not have read yet.
    struct Placed: Sendable {
        let hold: OperatorHold
        /// Whether the hold is new; otherwise the same one existed already.
        let isNew: Bool
    }

    /// Places a hold without waiting for the workers.
    func place(_ scope: HoldScope, by operator: ActingOperator) async throws -> Placed {
        switch try await store.place(scope, by: `operator`) {
        case .placed(let placed): return Placed(hold: placed, isNew: true)
        case .isHeld(let present): return Placed(hold: present, isNew: false)
        case .tooMany:
            throw OperationError(
                .notPossible,
                attempted: "add \(scope.app)",
                "\(OperatorHold.most) holds are active, which is the limit",
                advice: "release some, or hold the whole app"
            )
        }
    }

    /// Waits until the workers observe a hold, and counts the deliveries behind it.
    func observed(_ placed: Placed) async throws -> HoldAdded {
        let workers = try await confirmation(of: placed.hold)
        return HoldAdded(isNew: placed.isNew, held: try await counted([placed.hold])[0], workers: workers)
    }

    /// Counts the deliveries that a release would send.
    package func previewRelease(_ fields: OperationFields) async throws -> HoldRelease {
        try await previewRelease(of: try await hold(fields, for: "release"))
    }

    /// Counts the deliveries that the release of a matching hold would send, and those of an event among them; `nil`
    /// if no hold matches.
    func previewRelease(
        for event: EventID?,
        where isMeant: (HoldScope) -> Bool
    ) async throws -> HoldRelease? {
        guard let hold = try await store.all().first(where: { isMeant($0.scope) }) else { return nil }
        return try await previewRelease(of: hold, for: event)
    }

    private func previewRelease(of hold: OperatorHold, for event: EventID? = nil) async throws -> HoldRelease {
        let all = try await store.count(HoldSelection(hold.scope, of: hold.number))
        let claimed = try await claimed(in: hold.scope)
        guard let event else { return HoldRelease(hold: hold, count: all, ofEvent: nil, claimed: claimed) }
        let own = try await store.count(HoldSelection(hold.scope, of: hold.number, event: event))
        return HoldRelease(hold: hold, count: all, ofEvent: min(own.deliveries, all.deliveries), claimed: claimed)
    }

    /// Releases a hold: the waiting deliveries are sent, within concurrency and rate limits.
    package func release(_ hold: OperatorHold, by operator: ActingOperator) async throws -> HoldReleased {
        let held = try await counted([hold])[0]
        guard let released = try await store.release(hold.number, by: `operator`) else {
            throw OperationError(
                .tryAgain,
                attempted: "release \(hold.number)",
                "another operator has just released it",
                advice: "see bellhop hold list"
            )
        }
        let others = try await store.all().filter { $0.scope.overlaps(released.scope) }
        return HoldReleased(held: held, stillHeldBy: others)
    }

    /// Adds a reason to the audit, for a hold that was placed before its reason was known; it may be released since.
    func note(_ fields: OperationFields, by operator: ActingOperator) async throws -> JSONValue {
        guard let number = Int64(fields.items.first ?? ""), try await store.note(number, by: `operator`) else {
            throw OperationError(
                .notPossible,
                attempted: "note \(fields.items.first ?? "")",
                "unknown hold",
                advice: "see bellhop hold list"
            )
        }
        return .members([("hold", .int(number))])
    }

    // MARK: - Discarding

    /// Returns the events with the most deliveries behind a hold.
    package func events(_ fields: OperationFields) async throws -> JSONValue {
        let hold = try await hold(fields, for: "discard")
        let events = try await store.eventCounts(of: hold.scope).map { one in
            JSONValue.members([
                ("event", .string(one.event)), ("type", .string(one.type)), ("waiting", .int(one.deliveries)),
            ])
        }
        return .members([("hold", .int(hold.number)), ("events", .array(events))])
    }

    /// Counts the deliveries behind a hold that a discard would affect.
    package func previewDiscard(_ fields: OperationFields, asOf: Timestamp?) async throws -> HoldDiscard {
        let hold = try await hold(fields, for: "discard")
        let event = try fields.optional("event", EventID.rule, EventID.init(validating:))
        var selection = HoldSelection(hold.scope, of: hold.number, event: event)
        selection.recordedBy = asOf
        return HoldDiscard(
            hold: hold,
            selection: selection,
            count: try await store.count(selection),
            deferred: try await store.countDeferred(selection)
        )
    }

    /// Discards deliveries behind a hold: they are never sent, and their notifications stay in the app.
    ///
    /// Workers may still be moving deliveries behind the hold. An operator who names an event means all of its
    /// deliveries, so up to twice the agreed number of them are discarded.
    package func discard(
        _ discard: HoldDiscard,
        _ agreement: Agreement,
        by operator: ActingOperator
    ) async throws -> HoldDiscarded {
        var selection = discard.selection
        selection.recordedBy = selection.event == nil ? agreement.asOf : nil
        let result = try await store.discard(
            selection,
            agreed: agreement.count,
            atMost: selection.event == nil ? nil : max(2 * agreement.count, ActQuestion.many),
            by: `operator`
        )
        guard result.isHeld else {
            throw OperationError(
                .tryAgain,
                attempted: "discard \(discard.hold.number)",
                "hold \(discard.hold.number) was released meanwhile, after \(result.done.deliveries) had been discarded",
                advice: "the others go out; hold it again to stop them"
            )
        }
        return HoldDiscarded(count: result.done, left: result.left)
    }

    /// Returns the answer to a discard of nothing.
    ///
    /// Killed workers may have claimed every delivery of a named event. The discard is performed, so that these end when
    /// they come back. Without an operator, as in a dry run, nothing is changed.
    package func discardNothing(_ discard: HoldDiscard, by operator: ActingOperator?) async throws -> String {
        guard discard.isOfEvent, let `operator` else { return discard.nothing(isNoted: false) }
        let done = try await store.discard(discard.selection, agreed: 0, by: `operator`)
        return discard.nothing(isNoted: done.isHeld)
    }

    // MARK: - Selection

    /// Whether the names of apps, types and providers can be checked.
    ///
    /// A faulty catalogue must not prevent a hold.
    package var checksNames: Bool { context.readableCatalogs != nil }

    /// Returns the scope that the fields define.
    ///
    /// An unknown name is rejected, because such a hold would stop nothing and the operator would not notice it. Without
    /// catalogues the names are not checked.
    package func scope(_ fields: OperationFields) throws -> HoldScope {
        let scope = try HoldScope(fields)
        guard let catalogs = context.readableCatalogs else { return scope }
        guard let catalog = catalogs[scope.app] else {
            let hint = NearestName.hint(scope.app.text, among: catalogs.catalogs.map(\.app.text))
            throw OperationError.unfit("no catalogue describes \(scope.app)\(hint)", field: "app")
        }
        if let type = scope.type, catalog[type] == nil {
            let hint = NearestName.hint(type.text, among: catalog.types.map(\.type.text))
            throw OperationError.unfit("\(scope.app) has no type \(type)\(hint)", field: "type")
        }
        let provider = scope.provider.flatMap(PushProvider.init(rawValue:))
        if let provider, !catalog.uses(provider) {
            let words = "\(scope.app) sends nothing through \(provider.rawValue); see its catalogue"
            throw OperationError.unfit(words, field: "provider")
        }
        return scope
    }

    /// Returns the hold that the fields name, by its number or by its exact scope.
    package func hold(_ fields: OperationFields, for act: String) async throws -> OperatorHold {
        let holds = try await store.all()
        let found: OperatorHold?
        if let text = fields.items.first {
            let hasScope = !fields.given.isDisjoint(with: ["app", "type", "provider"])
            guard fields.items.count == 1, let number = Int64(text), !hasScope else {
                throw OperationError.unfit(
                    "\(act) requires the number of one hold, or --app and the options of its add",
                    field: "items"
                )
            }
            found = holds.first { $0.number == number }
        } else {
            let scope = try HoldScope(fields)
            found = holds.first { $0.scope == scope }
        }
        guard let found else {
            let others = holds.map { "\($0.number) (\($0.scope.words))" }.joined(separator: "; ")
            throw OperationError(
                .notPossible,
                attempted: "\(act) \(fields.items.first ?? fields.text("app") ?? "holds")",
                "unknown hold",
                advice: holds.isEmpty ? "nothing is held" : "active: \(others)"
            )
        }
        return found
    }
}

extension HoldScope {
    fileprivate init(_ fields: OperationFields) throws(OperationError) {
        let providers = CheckedProvider.allCases.map(\.rawValue)
        self.init(
            app: try fields.required("app"),
            type: try fields.optional("type", EventType.rule, EventType.init(validating:)),
            provider: try fields.optional("provider", "one of \(providers.joined(separator: ", "))") { name in
                providers.contains(name) ? name : nil
            }
        )
    }
}
