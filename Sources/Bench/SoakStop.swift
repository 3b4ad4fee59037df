import Synchronization

/// The request to end a soak early, with its report.
final class SoakStop: Sendable {
    private enum State { case notBegun, running, requested }
    private let state = Mutex(State.notBegun)

    /// Accepts a request from now on.
    func begin() { state.withLock { $0 = .running } }

    /// Requests the end; returns whether it was accepted.
    ///
    /// Before the load there is nothing to report, and a second request means that the report is not wanted.
    func request() -> Bool {
        state.withLock { state in
            guard state == .running else { return false }
            state = .requested
            return true
        }
    }

    var isRequested: Bool { state.withLock { $0 == .requested } }
}
