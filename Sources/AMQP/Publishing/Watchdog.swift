import Dispatch
import Glibc
import Synchronization

/// Breaks a connection whose thread hangs inside the library: a send waits without limit while the broker, under an
/// alarm, reads nothing and still shows signs of life.
///
/// Thread safety: the state is behind a lock; the socket is shut down only while it is known to be open, since the
/// owner forgets it under the same lock before it is closed.
final class Watchdog: Sendable {
    private struct State {
        var socket: Int32?
        var busySince: ContinuousClock.Instant?
    }

    private let limit: Duration
    private let state = Mutex(State())

    init(limit: Duration) {
        self.limit = limit
    }

    /// Watches over `socket` while `body` runs.
    func guarding<Failure: Error>(_ socket: Int32, _ body: () throws(Failure) -> Void) throws(Failure) {
        state.withLock { $0.socket = socket }
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { [weak self] in self?.look() }
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.activate()
        defer {
            timer.cancel()
            state.withLock { $0 = State() }
        }
        try body()
    }

    /// The thread starts a turn of work, which takes a moment unless it hangs.
    func busy() {
        state.withLock { $0.busySince = .now }
    }

    /// The thread goes to sleep, from which it wakes by itself.
    func idle() {
        state.withLock { $0.busySince = nil }
    }

    private func look() {
        state.withLock { state in
            guard let socket = state.socket, let since = state.busySince, since.duration(to: .now) > limit else {
                return
            }
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }
}
