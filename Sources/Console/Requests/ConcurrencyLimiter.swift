import Synchronization

/// Limits the concurrent operations.
///
/// There is no queue.
///
/// Some places are reserved for acts, so that readers cannot prevent an operator from placing a hold.
struct ConcurrencyLimiter: Sendable {
    private final class Places: Sendable {
        let taken = Mutex(0)
    }

    private let places = Places()
    private let most: Int
    static let usualPlaces = 16
    private static let keptForActs = 4

    init(most: Int = usualPlaces) { self.most = most }

    /// Runs a body unless too many run already.
    func run<Value>(isAct: Bool = false, _ body: () async -> Value) async throws(ConsoleError) -> Value {
        let hasRoom = places.taken.withLock { taken in
            guard taken < (isAct ? most : most - Self.keptForActs) else { return false }
            taken += 1
            return true
        }
        guard hasRoom else { throw .busy }
        let value = await body()
        places.taken.withLock { $0 -= 1 }
        return value
    }
}
