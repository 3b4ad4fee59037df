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
    ]
    static let options = [
        Option.taking("app", "A", "the app"),
        Option.taking("user", "U", "the user"),
        Option.taking("event", "ID", "the producer's id; also finds events that are kept for later or were rejected"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let question = try question(call.words)
        let explanation = try await call.withOperations(name) { context in
            try await ExplainOperations(context).explain(question)
        }
        call.answer(explanation.json, explanation.text)
        return explanation.story.isUnknown ? .answerIsNo : .done
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
