extension Operation {
    static let explanations = [
        Operation(
            name: "explain",
            fields: ["app", "user", "event"],
            items: 0...1,
            isPersonal: true,
            work: .reading { fields, context in
                let (question, operations) = (try ExplainQuestion(fields), ExplainOperations(context))
                let user = try await operations.user(of: question)
                guard let subject = question.subject else {
                    return try await operations.overview(of: user).json(isMasked: false)
                }
                return try await operations.explain(subject, for: user).json
            }
        ),
        Operation(
            name: "user",
            fields: ["app", "user"],
            work: .reading { fields, context in
                let operations = ExplainOperations(context)
                let user = try await operations.user(of: try ExplainQuestion(fields))
                return try await operations.overview(of: user).json(isMasked: true)
            }
        ),
    ]
}
