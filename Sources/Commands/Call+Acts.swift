import CLI
import Operations
import ServiceRuntime
import Store

/// The questions before every operator's act that changes data.
extension Call {
    /// Returns the operator's name and reason, from the command line, the system and the terminal.
    func actingOperator() throws(CommandFailure) -> ActingOperator {
        guard let because = reason(words.value("because") ?? shell.terminal?.ask("Why? (for the audit) ")) else {
            throw words.misuse("--because is required: the audit records the reason")
        }
        return acting(because)
    }

    /// Returns the operator for an act that must not wait for its reason, and whether the reason is still missing.
    func operatorAtOnce() -> (ActingOperator, isUnexplained: Bool) {
        let because = reason(words.value("because"))
        return (acting(because ?? ActingOperator.noReasonYet), isUnexplained: because == nil)
    }

    /// Asks for the reason of an act that was performed already; `nil` without a terminal or without an answer.
    func operatorAfterwards() -> ActingOperator? {
        reason(shell.terminal?.ask("Why? (for the audit; Enter to leave it open) ")).map(acting)
    }

    private func acting(_ because: String) -> ActingOperator {
        ActingOperator(name: words.value("by") ?? shell.user, because: because)
    }

    /// Returns the text unless it is blank.
    private func reason(_ text: String?) -> String? {
        guard let text, !text.allSatisfy(\.isWhitespace) else { return nil }
        return text
    }

    /// Asks the operator to type the count, unless `--yes` replaces the answer, and returns whether to continue.
    func confirm(_ question: ActQuestion) throws(CommandFailure) -> Bool {
        if words.has("yes") { return true }
        guard let terminal = shell.terminal else {
            throw CommandFailure(
                .usage,
                attempted: question.attempt,
                cameBack: "this needs consent, and there is no terminal to ask for it",
                whatToDo: "add --yes"
            )
        }
        let answer = terminal.ask("This \(question.deed). Type \(question.count) to go on: ") ?? ""
        if Int(answer.filter { $0 != "," && !$0.isWhitespace }) == question.count { return true }
        shell.print("Nothing was changed.")
        return false
    }
}
