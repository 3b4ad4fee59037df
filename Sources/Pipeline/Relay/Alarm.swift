import ServiceRuntime
import Synchronization

/// Ends one task's sleep from any thread; a ring that comes before the sleep is not lost.
///
/// Thread safety: the state is behind a lock.
final class Alarm: Sendable {
    private struct State {
        var hasRung = false
        var sleeper: DrainSignal?
    }

    private let state = Mutex(State())

    /// Ends the sleep, or prevents the next one.
    func ring() {
        let sleeper = state.withLock { state in
            defer { state.sleeper = nil }
            if state.sleeper == nil { state.hasRung = true }
            return state.sleeper
        }
        sleeper?.fire()
    }

    /// Sleeps for `span` or until the alarm rings.
    func sleep(for span: Duration) async {
        let sleeper = DrainSignal()
        let hasRung = state.withLock { state in
            defer { state.hasRung = false }
            if !state.hasRung { state.sleeper = sleeper }
            return state.hasRung
        }
        guard !hasRung else { return }
        await sleeper.pause(for: span)
        state.withLock { state in state.sleeper = nil }
    }
}
