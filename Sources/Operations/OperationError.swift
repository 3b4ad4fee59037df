package import ServiceRuntime

/// The reason why an operation was not performed.
package struct OperationError: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A field has an invalid value, or the fields together do.
        case invalid(field: String?)
        /// The input cannot be used.
        case refused
        /// The named item does not exist, or its state does not permit the act.
        case notPossible
        /// The state changed meanwhile; look again.
        case tryAgain
        /// A server cannot be reached.
        case unavailable
        /// The configuration must be changed first.
        case misconfigured
        /// A defect of the program.
        case failed
    }

    package let kind: Kind
    /// The operation, such as `release 3`; for an invalid field the field's name, if the message continues it.
    package let attempted: String
    package let message: String
    /// The remedy for the operator; empty for an invalid field.
    package let advice: String

    package init(_ kind: Kind, attempted: String, _ message: String, advice: String) {
        self.kind = kind
        self.attempted = attempted
        self.message = message
        self.advice = advice
    }

    /// Makes the error for a field with an invalid value.
    ///
    /// The message continues the field's name, such as `takes a whole number; found x`.
    package static func invalid(_ field: String, _ message: String) -> OperationError {
        OperationError(.invalid(field: field), attempted: field, message, advice: "")
    }

    /// Makes the error for fields that do not fit together or do not fit what exists.
    package static func unfit(_ message: String, field: String? = nil) -> OperationError {
        OperationError(.invalid(field: field), attempted: "", message, advice: "")
    }

    /// The text in one line.
    package var text: String { unescaped.escapingControls() }

    /// The text with the line breaks of its message, such as between several faults; a page shows them.
    package var lines: String {
        unescaped.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).escapingControls() }
            .joined(separator: "\n")
    }

    private var unescaped: String {
        guard case .invalid = kind else {
            return CommandFailure(exitCode, attempted: attempted, cameBack: message, whatToDo: advice).text
        }
        return attempted.isEmpty ? message : "\(attempted) \(message)"
    }

    /// The exit code for scripts.
    package var exitCode: ExitCode {
        switch kind {
        case .invalid: .usage
        case .refused: .badInput
        case .notPossible: .answerIsNo
        case .tryAgain: .tryAgain
        case .unavailable: .unavailable
        case .misconfigured: .configuration
        case .failed: .bug
        }
    }
}
