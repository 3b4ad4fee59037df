import BellhopRules
import Synchronization

/// Admits a limited number of tasks at a time, in the order of their arrival.
final class ConcurrencyLimiter: Sendable {
    private struct State {
        var places: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(places: Int) {
        state = Mutex(State(places: max(1, places)))
    }

    /// The number of waiting tasks.
    var waiting: Int { state.withLock(\.waiting.count) }

    func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.places > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.places -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.places += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

/// Limits the fan-out pages that a worker reads, decides and records concurrently per lane, however many have arrived.
///
/// A page is as much work as hundreds of other messages. While its pushes are in flight, it occupies no place here.
struct PageConcurrencyLimiter: Sendable {
    private let limiters: [Lane: ConcurrencyLimiter]

    init(atOnce: Int = 2) {
        limiters = Dictionary(uniqueKeysWithValues: Lane.allCases.map { ($0, ConcurrencyLimiter(places: atOnce)) })
    }

    /// Runs a page's first half when it has a place.
    func pass<Value>(_ lane: Lane, _ work: () async -> Value) async -> Value {
        await limiters[lane]?.enter()
        defer { limiters[lane]?.leave() }
        return await work()
    }
}
