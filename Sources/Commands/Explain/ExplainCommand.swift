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
        "explain [--app A] --user U NOTIFICATION [--json]",
        "explain [--app A] --user U --event ID [--json]",
        "explain [--app A] --user U [--json]",
    ]
    static let options = [
        Option.taking("app", "A", "the app (default: the only one that has data of the user)"),
        Option.taking("user", "U", "the user"),
        Option.taking("event", "ID", "the producer's id; also finds events that are kept for later or were rejected"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let question = try question(call.words)
        return try await call.withOperations(name, isAct: false) { context in
            let operations = ExplainOperations(context)
            let user = try await operations.user(of: question)
            if question.app == nil {
                let note = "bellhop: only \(user.app) has data of user \(user.user), so this is about that app"
                call.shell.complaints.print(line: note)
            }
            guard let subject = question.subject else {
                return show(try await operations.overview(of: user), call)
            }
            let explanation = try await operations.explain(subject, for: user)
            guard !explanation.story.isUnknown else {
                call.answer(explanation.json, prose: [explanation.answer.joined()])
                return .answerIsNo
            }
            call.answer(explanation.json, explanation.text)
            return .done
        }
    }

    /// Shows the user's latest notifications with the outcome of each.
    private static func show(_ overview: UserOverview, _ call: Call) -> ExitCode {
        guard !overview.isUnknown else {
            call.answer(overview.json(isMasked: false), prose: [overview.unknown])
            return .answerIsNo
        }
        call.answer(overview.json(isMasked: false), overview.text)
        return .done
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
