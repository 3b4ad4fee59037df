package import BellhopJSON
import BellhopRules
import ServiceRuntime
package import Store

/// A campaign that was stopped: its fan-out is paused, and a hold stops the deliveries that are recorded already.
package struct FanoutStopped: Sendable {
    package let record: FanoutRecord
    /// Whether this act paused the fan-out; otherwise it was paused or had ended.
    package let isNewlyPaused: Bool
    package let hold: HoldAdded
    /// The number of pages that a worker had begun before the pause; they may still be recorded.
    package let pagesInProgress: Int
    /// The outcomes after the workers observe the hold; `nil` if they could not be counted.
    package let results: FanoutResults?

    package var json: JSONValue {
        .members([
            ("fanout", .int(record.number)), ("state", .string(state.rawValue)), ("paused", .bool(isNewlyPaused)),
            ("pagesInProgress", .int(pagesInProgress)), ("hold", hold.held.json), ("held", .bool(hold.isNew)),
            ("workers", hold.workers.json), ("results", results?.json ?? .null), ("tooLate", .optional(tooLateWords)),
            ("words", .string(words)),
        ])
    }

    /// Whether every push of the fan-out has an outcome already, so that the stop came too late for all of them.
    package var isTooLate: Bool {
        guard state == .finished, let results, results.isComplete else { return false }
        return results.deliveries.waiting == 0
    }

    /// The sentences for a stop that came too late; `nil` if there was something to stop.
    package var tooLateWords: String? {
        guard isTooLate, let results else { return nil }
        let sent = results.deliveries.sent
        let counted = sent == 0 ? "" : ": \(sent.grouped) \(sent == 1 ? "was" : "were") sent"
        return "Nothing is left to stop: the fan-out has finished, and none of its pushes waits\(counted). Hold "
            + "\(hold.held.hold.number) stops other events of this type: release it unless they are wrong, too."
    }

    /// The state after the act.
    package var state: FanoutState { isNewlyPaused ? .paused : record.state }

    /// The state of the fan-out after the act, in sentences.
    package var words: String {
        let before =
            isNewlyPaused
            ? "Fan-out \(record.number) is paused." : "Fan-out \(record.number) was \(record.state.rawValue) already."
        return "\(before) \(pagesWords)"
    }

    /// The users whose notifications may still be recorded, in one sentence.
    private var pagesWords: String {
        guard state != .finished else { return "All its records are in the app." }
        let users = FanoutPage.usualSize.grouped
        guard pagesInProgress > 0 else { return "It begins no further page, and none is in progress." }
        return "It begins no further page. "
            + pagesInProgress.of("page in progress", "pages in progress")
            + " may still be recorded, up to \(users) users each; their pushes wait behind hold \(hold.held.hold.number). "
            + "If no other page is left, it then ends as finished."
    }
}

extension FanoutOperations {
    /// Stops a campaign in one act: no more users are recorded, and recorded deliveries are not sent.
    ///
    /// The hold covers the whole type, because workers decide by app, type and provider. It comes first: it also stops
    /// the deliveries of pages that are in progress.
    package func stop(_ filter: FanoutFilter, by operator: ActingOperator) async throws -> FanoutStopped {
        let record = try await progress(of: filter, for: "stop").record
        guard let app = AppID(validating: record.app), let type = EventType(validating: record.type) else {
            throw OperationError(
                .failed,
                attempted: "stop \(record.number)",
                "its app or type is invalid",
                advice: "hold the app"
            )
        }
        let holds = HoldOperations(context)
        let hold = try await holds.place(HoldScope(app: app, type: type), by: `operator`)
        var one = FanoutFilter()
        one.numbers = [record.number]
        one.states = FanoutAdmin.Act.pause.acceptedStates
        let isPaused = try await store.perform(.pause, on: one, agreed: 1, by: `operator`) == .done(items: 1)
        // No page is begun after the pause, so this is the upper limit of the pages that may still be recorded.
        let pages = try await store.detail(of: record.number).pages.filter { $0.takenAt != nil }.count
        // A stop that changes nothing is an act as well: another operator reads in the audit who wanted it.
        if !isPaused, !hold.isNew { try await store.noteStop(of: record, hold.hold.number, by: `operator`) }
        let observed = try await holds.observed(hold)
        return FanoutStopped(
            record: record,
            isNewlyPaused: isPaused,
            hold: observed,
            pagesInProgress: pages,
            // The campaign is stopped: a count that fails must not hide that.
            results: try? await results(of: record)
        )
    }

    /// Returns the release of the hold on a fan-out's type, or `nil` if there is no such hold.
    package func previewRelease(of filter: FanoutFilter) async throws -> HoldRelease? {
        let record = try await progress(of: filter, for: "resume").record
        let event = EventID(validating: record.event)
        return try await HoldOperations(context).previewRelease(for: event) { $0.isType(of: record) }
    }

    /// Returns the holds that still stop the pushes of the one fan-out that was resumed; none after any other act.
    package func holds(after preview: FanoutActPreview) async throws -> [OperatorHold] {
        guard preview.act == .resume, preview.count == 1 else { return [] }
        var filter = preview.filter
        filter.states = Set(FanoutState.allCases)
        let found = try await store.latest(filter, atMost: 2, counting: 0)
        guard found.count == 1 else { return [] }
        return try await HoldAdmin(pool: context.pool).all().filter { $0.scope.mayConcern(found[0].record) }
    }

    /// Returns the number of the hold on a fan-out's type, or `nil` if there is no such hold.
    package func hold(on filter: FanoutFilter) async throws -> Int64? {
        let record = try await progress(of: filter, for: "resume").record
        let holds = try await HoldOperations(context).list(app: record.app).map(\.hold)
        return holds.first { $0.scope.isType(of: record) }?.number
    }

    /// Releases the hold, which undoes a stop together with the resumption.
    package func release(_ preview: HoldRelease, by operator: ActingOperator) async throws -> HoldReleased {
        try await HoldOperations(context).release(preview.hold, by: `operator`)
    }

    /// Adds a reason to the audit, for an act on one fan-out that was performed before its reason was known.
    package func note(on filter: FanoutFilter, by operator: ActingOperator) async throws {
        guard let latest = try await store.latest(filter, atMost: 1).first else { return }
        try await store.note(latest.record, by: `operator`)
    }
}

extension HoldScope {
    /// Whether it is the whole type of a fan-out, as `stop` holds it.
    func isType(of record: FanoutRecord) -> Bool {
        app.text == record.app && type?.text == record.type && provider == nil
    }
}
