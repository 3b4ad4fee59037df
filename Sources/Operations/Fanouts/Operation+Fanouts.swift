import BellhopJSON
import Store

extension Operation {
    static let fanouts =
        [
            Operation(
                name: "fanouts",
                fields: filter.union(["state", "limit"]),
                work: .reading { fields, context in try await FanoutOperations(context).list(fields).json }
            ),
            Operation(
                name: "fanout",
                items: 1...1,
                work: .reading { fields, context in
                    let filter = try FanoutFilter(fields, for: "show")
                    return .members(try await FanoutOperations(context).show(filter).members)
                }
            ),
            Operation(
                name: "fanout-users",
                fields: ["after"],
                switches: ["sent"],
                items: 1...1,
                work: .reading { fields, context in
                    let filter = try FanoutFilter(fields, for: "list-users")
                    let (after, onlySent) = (fields.text("after") ?? "", fields.has("sent"))
                    return try await FanoutOperations(context).users(of: filter, after: after, onlySent: onlySent).json
                }
            ),
            Operation(
                name: "fanout-stop",
                items: 1...1,
                work: .act { fields, consent, context in
                    let filter = try FanoutFilter(fields, for: "stop")
                    return .done(try await FanoutOperations(context).stop(filter, by: try consent.required).json)
                }
            ),
            Operation(
                name: "fanout-note",
                items: 1...1,
                work: .act { fields, consent, context in
                    let filter = try FanoutFilter(fields, for: "note")
                    try await FanoutOperations(context).note(on: filter, by: try consent.required)
                    return .done(FanoutActPreview.json(1))
                }
            ),
        ] + [FanoutAdmin.Act.pause, .resume, .cancel].map(act)

    private static let filter: Set<String> = ["app", "event", "type", "topic"]

    private static func act(_ act: FanoutAdmin.Act) -> Operation {
        Operation(
            name: "fanout-\(act.rawValue)",
            fields: filter,
            items: 0...500,
            asksFirst: true,
            work: .act { fields, consent, context in
                let operations = FanoutOperations(context)
                let preview = try await operations.preview(act, on: try FanoutFilter(fields, for: act.rawValue))
                guard preview.count > 0 else {
                    return .nothing(try await operations.nothing(for: preview), FanoutActPreview.json(0))
                }
                return try await consent.agreeing(to: preview.question) { agreement, person in
                    let items = try await operations.perform(preview, agreement, by: person)
                    return FanoutActPreview.json(items, stoppedBy: try await operations.holds(after: preview))
                }
            }
        )
    }
}
