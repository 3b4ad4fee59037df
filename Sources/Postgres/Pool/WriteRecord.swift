import Synchronization

/// Remembers whether an operation of several transactions has written something.
final class WriteRecord: Sendable {
    private let written = Atomic(false)

    func note() { written.store(true, ordering: .relaxed) }

    /// Returns the error with the outcome of the whole operation: if an earlier transaction has taken effect, a failed
    /// one does not mean that nothing happened.
    func completed(_ error: PostgresError) -> PostgresError {
        written.load(ordering: .relaxed) ? error.with(outcome: Self.partly) : error
    }

    private static let partly = "A part of it has happened: look at the result before you repeat it."
}
