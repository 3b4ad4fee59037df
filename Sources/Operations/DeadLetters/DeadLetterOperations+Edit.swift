package import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

extension DeadLetterOperations {
    private static let mostEdited = 1_000
    private static let mostBytes = 64 << 20

    /// Applies one change to all items that match the filter; items that could not be recorded with it are left out.
    ///
    /// Returns `nil` if no open items match.
    package func editAll(_ input: DeadLetterInput, asOf: Timestamp?) async throws -> DeadLetterEdit? {
        let values = try input.valuesToSet()
        guard input.fields.document.isEmpty, !values.isEmpty || input.fields.text("routing-key") != nil else {
            throw OperationError.unfit(
                "edit takes one item, or a filter with --set or --routing-key: one change for all of them",
                field: "items"
            )
        }
        var filter = try await filterOfAct(input, asOf: asOf).with(state: .open)
        let count = try await store.count(filter)
        filter.filedBy = filter.filedBy ?? count.asOf
        guard count.items > 0 else { return nil }
        guard count.items <= Self.mostEdited else {
            let message = "\(count.items.of("item")) match, and one edit is for \(Self.mostEdited.of("item"))"
            throw input.error(.refused, message, advice: "add --limit")
        }
        if count.items > 1 { try Self.expectOwnIDs(values, count.items, input) }
        return try await corrections(filter, values, input)
    }

    /// Rejects one id for several items, since they would become one event.
    ///
    /// A user of two of them would get only the first.
    private static func expectOwnIDs(_ values: [PlacedValue], _ items: Int, _ input: DeadLetterInput) throws {
        for value in values where value.isOfID {
            guard value.value.string?.contains(JSONValue.itemMark) != true else { continue }
            throw input.error(
                .refused,
                "one id for \(items.of("item")) would make one event of them",
                advice: "--set '/id=\(JSONValue.itemMark)' gives each an id of its own, made of the item's"
            )
        }
    }

    private func corrections(
        _ filter: DeadLetterFilter,
        _ values: [PlacedValue],
        _ input: DeadLetterInput
    ) async throws -> DeadLetterEdit {
        let (dryRun, cutoff) = (try dryRun(input), try await cutoff())
        let audited = AuditedChange.words(values, routingKey: input.fields.text("routing-key"))
        var edit = DeadLetterEdit(of: filter, asOf: filter.filedBy, audited: audited)
        var last = ""
        while true {
            let page = try await store.messages(filter, after: last, atMost: 200)
            guard let end = page.last else { return edit }
            last = end.summary.deadID
            for item in page {
                if let reason = try await obstacle(item, cutoff, dryRun, input) {
                    edit.leaveOut(reason)
                } else {
                    try await correct(item, values, dryRun, input, &edit)
                }
            }
            guard edit.bytes <= Self.mostBytes else {
                throw input.error(.refused, "the bodies exceed 64 MiB", advice: "edit fewer items, with --limit")
            }
        }
    }

    /// Returns the reason why an item cannot be corrected at all.
    private func obstacle(
        _ item: DeadLetterMessage,
        _ cutoff: ReplayCutoff,
        _ dryRun: ReplayDryRun,
        _ input: DeadLetterInput
    ) async throws -> String? {
        let summary = item.summary
        if summary.delivery != nil { return "recorded, and a delivery was given up: replay sends it as it is" }
        if summary.cause.isOfInternalMessage { return "an internal message, not a producer's" }
        if item.origin.cutBody != nil { return "only the beginning of the body is left" }
        if summary.firstFailedAt < cutoff.earliest { return "too old to be sent" }
        let prediction = try await dryRun.predict(.init(item.origin, at: summary.firstFailedAt), at: input.now)
        return prediction.kind == .alreadyRecorded ? "recorded already for its users" : nil
    }

    /// Returns the changed body, or `nil` if the body cannot have a value at a place of the change.
    private func changedBody(
        _ item: DeadLetterMessage,
        _ original: JSONValue?,
        _ values: [PlacedValue],
        _ input: DeadLetterInput
    ) throws(OperationError) -> [UInt8]? {
        guard !values.isEmpty else { return item.origin.body }
        do throws(OperationError) {
            return try input.edited(original, values, item.summary.deadID)
        } catch {
            guard error.kind == .refused else { throw error }
            return nil
        }
    }

    private func correct(
        _ item: DeadLetterMessage,
        _ values: [PlacedValue],
        _ dryRun: ReplayDryRun,
        _ input: DeadLetterInput,
        _ edit: inout DeadLetterEdit
    ) async throws {
        let original = HumanText.document(item.origin.body)
        guard let body = try changedBody(item, original, values, input) else {
            return edit.leaveOut("the change has no place in it")
        }
        let copy = input.copy(of: item.summary, item.origin, body, dryRun)
        let prediction = try await dryRun.predict(.init(copy.origin, at: input.now), at: input.now)
        switch prediction.kind {
        case .alreadyRecorded: return edit.leaveOut("such an event is recorded already")
        case .stillInvalid:
            let rejection = dryRun.rejection(of: .init(copy.origin, at: input.now)) ?? prediction.detail ?? "invalid"
            return edit.leaveOut("refused again, \(rejection)")
        default: break
        }
        let changes = JSONEdits.differences(original, HumanText.document(body))
        guard !changes.isEmpty || copy.origin.routingKey != item.origin.routingKey else {
            return edit.leaveOut("nothing would change")
        }
        let correction = Correction(copy, of: item.summary.deadID, changes, item.origin)
        edit.add(correction, of: item.summary.cause, prediction, DeadLetterEdit.lines(changes, copy, item.origin))
    }

    /// Sends the corrected copies: a replay begins, and the originals are resolved by their copies.
    ///
    /// Returns the number of the replay and of the copies that it sends.
    package func send(
        _ edit: DeadLetterEdit,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> (replay: Int64, items: Int) {
        let pace = try input.pace()
        let outcome = try await store.hand(
            in: edit.corrections,
            selectedBy: edit.filter,
            changing: edit.audited,
            at: pace,
            by: `operator`
        )
        switch outcome {
        case .sent(let replay, let items): return (replay, items)
        case .notOpen:
            let message = edit.isOfOneItem ? "it is no longer open" : "none of them is still open"
            let subject = edit.isOfOneItem ? edit.corrections.first?.original : nil
            throw input.error(.tryAgain, message, advice: "look again", about: subject ?? "items")
        }
    }
}
