import BellhopRules

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
