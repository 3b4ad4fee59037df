import Synchronization

/// Carries one caller's request to stop to its work, whether the work waits for a connection or runs on one.
final class Interruption: Sendable {
    private struct State {
        var isAsked = false
        /// The duration of the server's silence, if that is the reason.
        var silence: Duration?
        /// Set while a session works for this caller.
        var canceller: Canceller?
        /// Whether a COMMIT is in flight, which is never interrupted, because its outcome would be unknown.
        var isShielded = false
        var request: CancelRequest?
    }

    private let state = Mutex(State())

    /// Requests that the caller's work stop.
    ///
    /// Work that has not begun will not begin, and the server interrupts running work. `silence` is the duration of the
    /// server's silence, if that is the only reason for the request.
    func ask(after silence: Duration? = nil) {
        state.withLock { state in
            guard !state.isAsked else { return }
            state.isAsked = true
            state.silence = silence
            if !state.isShielded { state.request = state.canceller?.send() }
        }
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// The duration of the server's silence when the request was made; `nil` for every other reason.
    var silence: Duration? { state.withLock { $0.silence } }

    /// Records that a session starts to work for the caller; returns `false` if the caller has already given up.
    func begin(on canceller: Canceller) -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.canceller = canceller
            return true
        }
    }

    /// Prevents interruptions until `unshield`; returns `false` if one was already requested.
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

    /// Records the end of the session's work, after which no cancel request is sent.
    ///
    /// Returns the request that may still be in flight.
    func finish() -> CancelRequest? {
        state.withLock { state in
            state.canceller = nil
            return state.request
        }
    }
}
