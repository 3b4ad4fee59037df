extension Operation {
    static let explanations = [
        Operation(
            name: "explain",
            fields: ["app", "user", "event"],
            items: 0...1,
            isPersonal: true,
            work: .reading { fields, context in
                let (question, operations) = (try ExplainQuestion(fields), ExplainOperations(context))
                guard let subject = question.subject else {
                    return try await operations.overview(of: question.user).json(isMasked: false)
                }
                return try await operations.explain(subject, for: question.user).json
            }
        ),
        Operation(
            name: "user",
            fields: ["app", "user"],
            work: .reading { fields, context in
                let user = try ExplainQuestion(fields).user
                return try await ExplainOperations(context).overview(of: user).json(isMasked: true)
            }
        ),
    ]
}
