/// The outcomes of several pieces of work, for one caller that waits for all of them.
///
/// Public for the same reason as ``Queue``: the outcome of every message passes through it.
public struct Outcomes<Outcome: Sendable>: Sendable {
    @usableFromInline var collected: [Outcome?]
    @usableFromInline var missing: Int
    @usableFromInline var continuation: CheckedContinuation<[Outcome], Never>?

    /// Creates `count` open outcomes.
    @inlinable
    public init(count: Int) {
        collected = Array(repeating: nil, count: count)
        missing = count
    }

    /// Whether the outcome of this piece is still open.
    @inlinable
    public func isOpen(_ index: Int) -> Bool { collected[index] == nil }

    /// Sets the waiting caller, which is resumed immediately if all outcomes are complete.
    @inlinable
    public mutating func begin(_ waiter: CheckedContinuation<[Outcome], Never>) {
        continuation = waiter
        resumeIfComplete()
    }

    /// Stores an outcome unless there is one already; the last one resumes the waiting caller.
    @inlinable
    public mutating func settle(_ index: Int, _ outcome: Outcome) {
        guard collected[index] == nil else { return }
        collected[index] = outcome
        missing -= 1
        resumeIfComplete()
    }

    @inlinable
    mutating func resumeIfComplete() {
        guard missing == 0, let waiter = continuation else { return }
        continuation = nil
        waiter.resume(returning: collected.compactMap { $0 })
    }
}
