import BellhopJSON
import Store

extension Operation {
    static let replays =
        [
            Operation(
                name: "forecast",
                fields: DeadLetterFilter.fields.union(["cap"]),
                items: 0...500,
                work: .reading { fields, context in
                    try await ReplayOperations(context).dryRun(DeadLetterInput("replay", fields)).json
                }
            ),
            Operation(
                name: "replays",
                items: 0...1,
                work: .reading { fields, context in
                    let (operations, input) = (ReplayOperations(context), DeadLetterInput("replays", fields))
                    guard let id = try input.replayNumber() else {
                        return try await operations.latest().json(at: input.now)
                    }
                    return try await operations.answer(try await operations.progress(of: id, input)).json
                }
            ),
            Operation(
                name: "replay",
                fields: DeadLetterFilter.fields.union(["rate", "pause-at", "cap", "at"]),
                switches: ["all", "ramp"],
                items: 0...500,
                asksFirst: true,
                work: .act { fields, consent, context in
                    let (operations, input) = (ReplayOperations(context), DeadLetterInput("replay", fields))
                    let preview = try await operations.preview(input, asOf: consent?.agreement?.asOf)
                    try await operations.expectFree(preview, input)
                    guard preview.count > 0 else {
                        return .nothing(preview.leftOut + [ReplayPreview.nothing], ReplayPreview.nothingJSON)
                    }
                    return try await consent.agreeing(to: preview.question) { _, person in
                        try await operations.start(preview, input, by: person).json
                    }
                }
            ),
            Operation(
                name: "replay-rate",
                fields: ["rate"],
                items: 1...1,
                work: .act { fields, consent, context in
                    let (operations, input) = (ReplayOperations(context), DeadLetterInput("rate", fields))
                    let (id, by) = (try input.requiredReplay(), try consent.required)
                    return .done(try await operations.answer(try await operations.changeRate(id, input, by: by)).json)
                }
            ),
            Operation(
                name: "replay-note",
                items: 1...1,
                work: .act { fields, consent, context in
                    let (operations, input) = (ReplayOperations(context), DeadLetterInput("note", fields))
                    let id = try input.requiredReplay()
                    try await operations.note(id, by: try consent.required)
                    return .done(.members([("replay", .int(id))]))
                }
            ),
        ] + [ReplayAdmin.Control.pause, .resume, .cancel].map(control)

    private static func control(_ control: ReplayAdmin.Control) -> Operation {
        Operation(
            name: "replay-\(control.rawValue)",
            fields: control == .resume ? ["rate"] : [],
            items: 1...1,
            work: .act { fields, consent, context in
                let (operations, input) = (ReplayOperations(context), DeadLetterInput(control.rawValue, fields))
                let (id, by) = (try input.requiredReplay(), try consent.required)
                let progress =
                    control == .resume
                    ? try await operations.resume(id, input, by: by)
                    : try await operations.control(control, id, input, by: by)
                return .done(try await operations.answer(progress).json)
            }
        )
    }
}
