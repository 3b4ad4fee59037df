import Operations
import ServiceRuntime

extension DeadLetterSession {
    /// Performs `show`: it prints one item with all details.
    ///
    /// Personal data is shown only on request, which is recorded in the audit.
    func show() async throws -> ExitCode {
        let found: DeadLetterAnswer
        if words.has("reveal") {
            // An item that does not exist is reported before the operator is asked for a reason.
            _ = try await operations.show(input, revealedBy: nil)
            found = try await operations.show(input, revealedBy: try actingOperator())
        } else {
            found = try await operations.show(input, revealedBy: nil)
        }
        answer(found.json, lines: found.lines)
        return .done
    }
}
