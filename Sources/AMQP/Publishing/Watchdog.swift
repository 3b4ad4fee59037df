import Dispatch
import Glibc
import Synchronization

/// Breaks a connection whose thread hangs inside the library.
///
/// A send waits without limit while the broker, under an alarm, reads nothing and still sends heartbeats.
///
/// Thread safety: a lock protects the state. The socket is shut down only while it is known to be open, because the
/// owner clears it under the same lock before closing it.
final class Watchdog: Sendable {
    private struct State {
        var socket: Int32?
        var busySince: ContinuousClock.Instant?
    }

    private let limit: Duration
    private let state = Mutex(State())

    init(limit: Duration) { self.limit = limit }

    /// Watches `socket` while `body` runs.
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

    /// Records that the thread starts a turn of work, which is short unless the thread hangs.
    func busy() { state.withLock { $0.busySince = .now } }

    /// Records that the thread goes to sleep, from which it wakes without help.
    func idle() { state.withLock { $0.busySince = nil } }

    private func look() {
        state.withLock { state in
            guard let socket = state.socket, let since = state.busySince, since.duration(to: .now) > limit else {
                return
            }
            shutdown(socket, Int32(SHUT_RDWR))
        }
    }
}
