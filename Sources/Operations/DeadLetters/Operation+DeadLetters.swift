import BellhopJSON
import Store

extension Operation {
    static let deadLetters = deadLetterReadings + deadLetterActs + deadLetterEdits

    private static let deadLetterReadings = [
        Operation(
            name: "groups",
            fields: DeadLetterFilter.fields.union(["state"]),
            work: .reading { fields, context in
                try await DeadLetterOperations(context).groups(DeadLetterInput("groups", fields)).json
            }
        ),
        Operation(
            name: "letters",
            fields: DeadLetterFilter.fields.union(["state", "sort"]),
            work: .reading { fields, context in
                try await DeadLetterOperations(context).page(DeadLetterInput("list", fields)).json
            }
        ),
        Operation(
            name: "letter",
            items: 1...1,
            work: .reading { fields, context in
                let input = DeadLetterInput("show", fields)
                let operations = DeadLetterOperations(context)
                return try await operations.show(try await operations.detail(input), now: input.now).json
            }
        ),
        Operation(
            name: "audit",
            fields: ["limit", "by", "act", "text"],
            work: .reading { fields, context in
                try await DeadLetterOperations(context).audit(DeadLetterInput("audit", fields)).json
            }
        ),
    ]

    private static let deadLetterActs =
        [DeadLetterAction.discard, .restore, .note].map { act in
            Operation(
                name: act.rawValue,
                fields: DeadLetterFilter.fields.union(act == .note ? ["state"] : []),
                switches: ["all"],
                items: 0...500,
                asksFirst: true,
                work: .act { fields, consent, context in
                    let (operations, input) = (DeadLetterOperations(context), DeadLetterInput(act.rawValue, fields))
                    let preview = try await operations.preview(act, input, asOf: consent?.agreement?.asOf)
                    return try await operations.answer(preview, input, consent)
                }
            )
        } + [
            Operation(
                name: "undo",
                items: 1...1,
                asksFirst: true,
                work: .act { fields, consent, context in
                    let (operations, input) = (DeadLetterOperations(context), DeadLetterInput("undo", fields))
                    let preview = try await operations.previewUndo(input, asOf: consent?.agreement?.asOf)
                    return try await operations.answer(preview, input, consent)
                }
            ),
            Operation(
                name: "reveal",
                items: 1...1,
                work: .act { fields, consent, context in
                    let (operations, input) = (DeadLetterOperations(context), DeadLetterInput("show", fields))
                    let person = try consent.required
                    let detail = try await operations.detail(input)
                    return .done(try await operations.show(detail, revealedBy: person, now: input.now).json)
                }
            ),
        ]

    private static let deadLetterEdits = [
        Operation(
            name: "edit",
            fields: DeadLetterFilter.fields.union(["set", "routing-key", "rate"]),
            switches: ["all", "ramp"],
            items: 0...1,
            asksFirst: true,
            work: .act { fields, consent, context in
                let (operations, input) = (DeadLetterOperations(context), DeadLetterInput("edit", fields))
                guard fields.items.isEmpty else { return try await operations.editOne(input, consent) }
                guard let edit = try await operations.editAll(input, asOf: consent?.agreement?.asOf) else {
                    return .nothing(["No open items match."], .members([("items", .int(0))]))
                }
                return try await operations.answer(edit, input, consent)
            }
        ),
        Operation(
            name: "rewrite",
            fields: ["routing-key"],
            items: 1...1,
            asksFirst: true,
            work: .act { fields, consent, context in
                guard !fields.document.isEmpty else { throw OperationError.invalid("text", "is missing") }
                return try await DeadLetterOperations(context).editOne(DeadLetterInput("edit", fields), consent)
            }
        ),
    ]
}

extension DeadLetterOperations {
    fileprivate func answer(
        _ preview: DeadLetterActPreview,
        _ input: DeadLetterInput,
        _ consent: Consent?
    ) async throws -> ActAnswer {
        guard preview.count.items > 0 else { return .nothing([preview.nothing], DeadLetterActDone.nothing) }
        return try await consent.agreeing(to: preview.question) { _, person in
            try await perform(preview, input, by: person).json
        }
    }

    fileprivate func editOne(_ input: DeadLetterInput, _ consent: Consent?) async throws -> ActAnswer {
        let letter = try await editable(input)
        guard let body = try newBody(of: letter, input) else {
            throw OperationError.unfit("edit requires a value to set, a routing key or a whole body", field: "set")
        }
        return try await answer(try await edit(letter, body, input), input, consent)
    }

    fileprivate func answer(
        _ edit: DeadLetterEdit,
        _ input: DeadLetterInput,
        _ consent: Consent?
    ) async throws -> ActAnswer {
        guard edit.count > 0 else {
            return .nothing(edit.lines + [DeadLetterEdit.nothing], edit.json(items: 0, replay: nil))
        }
        return try await consent.agreeing(to: edit.question) { _, person in
            let (replay, items) = try await send(edit, input, by: person)
            return edit.json(items: items, replay: replay)
        }
    }
}
