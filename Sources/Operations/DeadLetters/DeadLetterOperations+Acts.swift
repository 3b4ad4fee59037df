package import BellhopJSON
package import BellhopRules
import ServiceRuntime
package import Store

/// The items that a note, a discard or a restore would change.
package struct DeadLetterActPreview: Sendable {
    package let act: DeadLetterAction
    let filter: DeadLetterFilter
    package let count: DeadLetterCount
    let composition: DeadLetterComposition
    /// The number of the act that this one reverts; `nil` if it reverts none.
    private var reverted: Int64? { filter.act }

    package var question: ActQuestion {
        let (verb, preposition) = (act.verb, act == .note ? "a note to " : "")
        let object = preposition + count.text(composition)
        return ActQuestion(
            count: count.items,
            reverted == nil ? verb : .reverts,
            reverted.map { "act \($0): it \(verb.rawValue) \(object)" } ?? object,
            asOf: filter.filedBy,
            about: composition
        )
    }

    /// The answer of a dry run.
    package var json: JSONValue { .members([("items", .int(count.items)), ("act", .null)]) }

    /// The answer if nothing matches.
    package var nothing: String {
        if let reverted {
            return "Nothing is left to undo of act \(reverted): it was undone already, or its items were changed since."
        }
        return "No items match that are \(act.acceptedState?.rawValue ?? "known")."
    }
}

/// The result of a note, a discard or a restore.
package struct DeadLetterActDone: Sendable {
    package let items: Int
    /// The number of the act in the audit, by which it can be undone.
    package let number: Int64?

    package var json: JSONValue {
        .members([("items", .int(items)), ("act", number.map { .int($0) } ?? .null)])
    }

    package static let nothing = JSONValue.members([("items", .int(0))])
}

extension DeadLetterOperations {
    /// Counts the items that a note, a discard or a restore would change.
    package func preview(
        _ act: DeadLetterAction,
        _ input: DeadLetterInput,
        asOf: Timestamp?
    ) async throws -> DeadLetterActPreview {
        var filter = try await filterOfAct(input, asOf: asOf)
        if let state = act.acceptedState { filter = filter.with(state: state) }
        // A note applies to named items in every state.
        if act == .note, input.fields.text("state") == nil, !input.fields.items.isEmpty {
            filter.states = Set(DeadLetterState.allCases)
        }
        return try await preview(act, on: filter)
    }

    /// Counts the items to which the reverse of an act applies: its items, without any that was changed since.
    package func previewUndo(_ input: DeadLetterInput, asOf: Timestamp?) async throws -> DeadLetterActPreview {
        guard let text = input.fields.items.first, input.fields.items.count == 1, let number = Int64(text) else {
            throw OperationError.unfit("undo takes the number of one act; audit has them", field: "items")
        }
        guard let entry = try await store.auditEntry(number) else {
            let advice = "bellhop dead-letters audit lists them; a replay's number is not an act's"
            throw input.error(.notPossible, "there is no such act", advice: advice, about: "act \(text)")
        }
        guard let reverse = entry.reverse else {
            let message = "it was \(entry.act), which undo cannot take back"
            throw input.error(.notPossible, message, advice: entry.remedy, about: "act \(text)")
        }
        var filter = DeadLetterFilter()
        filter.act = number
        filter.filedBy = asOf
        if let state = reverse.acceptedState { filter = filter.with(state: state) }
        return try await preview(reverse, on: filter)
    }

    private func preview(_ act: DeadLetterAction, on filter: DeadLetterFilter) async throws -> DeadLetterActPreview {
        var filter = filter
        let count = try await store.count(filter)
        filter.filedBy = filter.filedBy ?? count.asOf
        let composition = try await store.composition(filter)
        return DeadLetterActPreview(act: act, filter: filter, count: count, composition: composition)
    }

    /// Performs an act on all items of a preview.
    package func perform(
        _ preview: DeadLetterActPreview,
        _ input: DeadLetterInput,
        by operator: ActingOperator
    ) async throws -> DeadLetterActDone {
        let agreed = preview.count.items
        let (result, number) = try await store.carryOut(
            preview.act,
            on: preview.filter,
            agreed: agreed,
            by: `operator`
        )
        switch result {
        case .done(let items): return DeadLetterActDone(items: items, number: number)
        case .moreThanAgreed(let items): throw input.tooMany(items, agreed: agreed, "nothing was changed")
        }
    }
}

extension DeadLetterAction {
    /// The verb of the effect; a note is added to its items.
    fileprivate var verb: ActVerb {
        switch self {
        case .discard: .discards
        case .restore: .restores
        case .note: .adds
        }
    }
}

extension AuditEntry {
    /// The act that reverses this one, or `nil` if none does.
    var reverse: DeadLetterAction? {
        switch DeadLetterAction(rawValue: act) {
        case .discard: .restore
        case .restore: .discard
        case .note, nil: nil
        }
    }

    /// The alternative to an undo.
    fileprivate var remedy: String {
        switch act {
        case "replay", "resume", "edit":
            replay.map { "bellhop dead-letters cancel \($0) stops what has not gone out" } ?? "nothing is to be done"
        case "pause": replay.map { "bellhop dead-letters resume \($0)" } ?? "nothing is to be done"
        case "hold-add": "bellhop hold list, then release it"
        default: "it stands"
        }
    }
}
