package import BellhopJSON

/// One thing that an operator can read or do, with the input that it takes.
///
/// The console serves each operation under its name; the command line has a verb for it.
package struct Operation: Sendable {
    /// The work behind a name.
    package enum Work: Sendable {
        /// Reads and changes nothing.
        case reading(@Sendable (OperationFields, OperationsContext) async throws -> JSONValue)
        /// Changes something, or shows data that requires an audit entry.
        case act(@Sendable (OperationFields, Consent?, OperationsContext) async throws -> ActAnswer)
    }

    /// In kebab case.
    package let name: String
    /// Fields with a text.
    package var fields: Set<String> = []
    /// Fields without a text.
    package var switches: Set<String> = []
    /// The number of items that it takes.
    package var items: ClosedRange<Int> = 0...0
    /// Whether the answer shows texts of messages, which viewers may not see.
    package var isPersonal = false
    /// Whether the act asks for an agreement before it changes anything.
    package var asksFirst = false
    package let work: Work

    package var isAct: Bool {
        if case .act = work { true } else { false }
    }
}

extension Operation {
    /// All operations.
    package static let all = holds + retries + providers + fanouts + deadLetters + replays + explanations

    /// Performs a reading.
    package func read(_ fields: OperationFields, in context: OperationsContext) async throws(OperationError)
        -> JSONValue
    {
        guard case .reading(let read) = work else { preconditionFailure("\(name) is an act") }
        do { return try await read(fields, context) } catch { throw OperationError(error, during: name, isAct: isAct) }
    }

    /// Performs an act, or asks the question before it if there is no consent yet.
    package func perform(
        _ fields: OperationFields,
        _ consent: Consent?,
        in context: OperationsContext
    ) async throws(OperationError) -> ActAnswer {
        guard case .act(let act) = work else { preconditionFailure("\(name) changes nothing") }
        do { return try await act(fields, consent, context.forOneAct()) } catch {
            throw OperationError(error, during: name, isAct: isAct)
        }
    }
}
