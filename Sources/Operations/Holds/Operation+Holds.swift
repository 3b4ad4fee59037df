import BellhopJSON

extension Operation {
    static let holds = [
        Operation(
            name: "holds",
            fields: ["app"],
            work: .reading { fields, context in
                let holds = try await HoldOperations(context).list(app: fields.text("app"))
                return .members([("holds", .array(holds.map(\.json)))])
            }
        ),
        Operation(
            name: "hold-events",
            items: 1...1,
            work: .reading { fields, context in try await HoldOperations(context).events(fields) }
        ),
        Operation(
            name: "hold-add",
            fields: ["app", "type", "provider"],
            work: .act { fields, consent, context in
                let operations = HoldOperations(context)
                let scope = try operations.scope(fields)
                return .done(try await operations.add(scope, by: try consent.required).json)
            }
        ),
        Operation(
            name: "hold-note",
            items: 1...1,
            work: .act { fields, consent, context in
                .done(try await HoldOperations(context).note(fields, by: try consent.required))
            }
        ),
        Operation(
            name: "hold-release",
            items: 1...1,
            asksFirst: true,
            work: .act { fields, consent, context in
                let operations = HoldOperations(context)
                let preview = try await operations.previewRelease(fields)
                guard let consent, preview.isCovered(by: consent.agreement) else { return .question(preview.question) }
                return .done(try await operations.release(preview.hold, by: consent.by).json)
            }
        ),
        Operation(
            name: "hold-discard",
            fields: ["event"],
            items: 1...1,
            asksFirst: true,
            work: .act { fields, consent, context in
                let operations = HoldOperations(context)
                let preview = try await operations.previewDiscard(fields, asOf: consent?.agreement?.asOf)
                guard preview.deliveries > 0 else {
                    let answer = try await operations.discardNothing(preview, by: consent?.by)
                    return .nothing([answer], HoldDiscarded.nothing.json)
                }
                return try await consent.agreeing(to: preview.question) { agreement, person in
                    try await operations.discard(preview, agreement, by: person).json
                }
            }
        ),
    ]
}
