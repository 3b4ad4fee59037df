import CLI
import Operations
import ServiceRuntime

/// The command `bellhop explain`.
///
/// It shows why a user got or did not get a notification.
enum ExplainCommand: Command {
    static let name = "explain"
    static let summary =
        "Explains why a user did or did not get a notification."
    static let synopsis = [
        "explain --app A --user U NOTIFICATION [--json]",
        "explain --app A --user U --event ID [--json]",
        "explain --app A --user U [--json]",
    ]
    static let options = [
        Option.taking("app", "A", "the app"),
        Option.taking("user", "U", "the user"),
        Option.taking("event", "ID", "the producer's id; also finds events that are kept for later or were rejected"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let question = try question(call.words)
        guard let subject = question.subject else { return try await overview(of: question, call) }
        let explanation = try await call.withOperations(name) { context in
            try await ExplainOperations(context).explain(subject, for: question.user)
        }
        call.answer(explanation.json, explanation.text)
        return explanation.story.isUnknown ? .answerIsNo : .done
    }

    /// Shows the user's latest notifications with the outcome of each.
    private static func overview(of question: ExplainQuestion, _ call: Call) async throws -> ExitCode {
        let overview = try await call.withOperations(name) { context in
            try await ExplainOperations(context).overview(of: question.user)
        }
        call.answer(overview.json(isMasked: false), overview.text)
        return overview.isUnknown ? .answerIsNo : .done
    }

    private static func question(_ words: Words) throws(CommandFailure) -> ExplainQuestion {
        do {
            return try ExplainQuestion(
                OperationFields(items: words.operands, values: words.values, switches: words.switches)
            )
        } catch {
            throw CommandFailure(error, words)
        }
    }
}
