import Synchronization

/// Admits a limited number of tasks at a time, in the order of their arrival.
final class ConcurrencyLimiter: Sendable {
    private struct State {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let places: @Sendable () -> Int

    /// Creates a limiter whose number of places may change.
    ///
    /// The number is read whenever a task enters or leaves. A task that has entered keeps its place if the number falls.
    init(places: @escaping @Sendable () -> Int) {
        self.places = places
    }

    convenience init(places: Int) {
        self.init { places }
    }

    /// The number of waiting tasks.
    var waiting: Int { state.withLock(\.waiting.count) }

    func enter() async {
        await withCheckedContinuation { continuation in
            admit { $0.waiting.append(continuation) }
        }
    }

    func leave() {
        admit { $0.running -= 1 }
    }

    /// Changes the state and admits tasks while there are places.
    private func admit(after change: (inout sending State) -> Void) {
        let admitted = state.withLock { state in
            change(&state)
            let free = max(1, places()) - state.running
            let first = Array(state.waiting.prefix(max(0, free)))
            state.waiting.removeFirst(first.count)
            state.running += first.count
            return first
        }
        for task in admitted { task.resume() }
    }
}
