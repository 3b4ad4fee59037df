import Synchronization

/// Carries one caller's wish to stop to wherever the work is: still waiting for a connection, or running on one.
final class Interruption: Sendable {
    private struct State {
        var isAsked = false
        /// For how long the server has been silent, where that is why.
        var silence: Duration?
        /// Set while a session works for this caller.
        var canceller: Canceller?
        /// A COMMIT is under way, which is never interrupted: its outcome would be anyone's guess.
        var isShielded = false
        var request: CancelRequest?
    }

    private let state = Mutex(State())

    /// The caller wants to stop.
    ///
    /// What has not begun will not begin; what runs is interrupted by the server. `silence` says for how long the server has
    /// not answered, where nobody wants to stop but for that.
    func ask(after silence: Duration? = nil) {
        state.withLock { state in
            guard !state.isAsked else { return }
            state.isAsked = true
            state.silence = silence
            if !state.isShielded { state.request = state.canceller?.send() }
        }
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// For how long the server had been silent when somebody asked to stop for that; nil for every other reason.
    var silence: Duration? { state.withLock { $0.silence } }

    /// A session starts to work for the caller; false if the caller has already given up.
    func begin(on canceller: Canceller) -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.canceller = canceller
            return true
        }
    }

    /// From here to `unshield` nothing is interrupted; false if it is too late for that.
    func shield() -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.isShielded = true
            return true
        }
    }

    func unshield() {
        state.withLock { $0.isShielded = false }
    }

    /// The session's work is over: no request is sent from here on.
    ///
    /// Returns the one that may still be on its way.
    func finish() -> CancelRequest? {
        state.withLock { state in
            state.canceller = nil
            return state.request
        }
    }
}
