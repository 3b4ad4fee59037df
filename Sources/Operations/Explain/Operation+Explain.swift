extension Operation {
    static let explain = Operation(
        name: "explain",
        fields: ["app", "user", "event"],
        items: 0...1,
        isPersonal: true,
        work: .reading { fields, context in
            try await ExplainOperations(context).explain(try ExplainQuestion(fields)).json
        }
    )
}
