/// A state machine that a client runs, with events that have at most one transition from each state.
public protocol ClientStateMachine: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    associatedtype Event: RawRepresentable<String>, CaseIterable, Hashable, Sendable

    /// Returns the next state; `nil` if the event has no transition from this state.
    func applying(_ event: Event) -> Self?
}

extension ClientStateMachine {
    /// Changes to the next state and returns whether there was one; the state is unchanged otherwise.
    @discardableResult
    public mutating func apply(_ event: Event) -> Bool {
        guard let next = applying(event) else { return false }
        self = next
        return true
    }
}
