import BellhopJSON

extension Operation {
    static let retries = [
        Operation(
            name: "retries",
            fields: ["app"],
            work: .reading { fields, context in
                try await RetryOperations(context).list(app: fields.text("app")).json
            }
        ),
        Operation(
            name: "retries-bring-forward",
            fields: ["app", "provider"],
            asksFirst: true,
            work: .act { fields, consent, context in
                let operations = RetryOperations(context)
                let preview = try await operations.preview(fields)
                guard preview.waiting != nil else {
                    return .nothing([preview.nothing], .members([("deliveries", .int(0))]))
                }
                guard let consent, preview.isCovered(by: consent.agreement) else {
                    return .question(preview.question)
                }
                return .done(try await operations.bringForward(preview, by: consent.by).json)
            }
        ),
    ]
}
