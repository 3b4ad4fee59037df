import Operations
import ServiceRuntime

extension DeadLetterSession {
    /// Performs `show`: it prints one item with all details.
    ///
    /// Personal data is shown only on request, which is recorded in the audit.
    func show() async throws -> ExitCode {
        // An item that does not exist is reported before the operator is asked for a reason.
        let detail = try await operations.detail(input)
        let person = words.has("reveal") ? try actingOperator() : nil
        let found = try await operations.show(detail, revealedBy: person, now: input.now)
        answer(found.json, lines: found.lines)
        return .done
    }
}
