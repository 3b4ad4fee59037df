import BellhopRules
import ServiceRuntime
import Synchronization

/// Limits the fan-out pages that a worker reads, decides and records concurrently per lane, however many have arrived.
///
/// A page is as much work as hundreds of other messages. While its pushes are in flight, it occupies no place here.
///
/// While urgent messages arrive, the other lanes process one page at a time. With two, pages alone would use both cores
/// of a small machine, and an urgent event would wait for a core at each of its steps.
final class PageConcurrencyLimiter: Sendable {
    let limiters: [Lane: ConcurrencyLimiter]
    private let urgency: Urgency

    /// The number of pages of a lane.
    private static let atOnce = 2

    /// The arrival of the latest urgent message.
    private final class Urgency: Sendable {
        /// The time for which more messages are expected after one.
        static let length = Duration.seconds(1)

        private let time: any TimeSource
        private let latest = Mutex<ContinuousClock.Instant?>(nil)

        init(_ time: any TimeSource) { self.time = time }

        func note() {
            let now = time.steady()
            latest.withLock { $0 = now }
        }

        var isPresent: Bool {
            guard let latest = latest.withLock({ $0 }) else { return false }
            return time.steady() - latest < Self.length
        }
    }

    init(time: any TimeSource) {
        let urgency = Urgency(time)
        self.urgency = urgency
        let lanes = Lane.allCases.map { lane in
            (lane, ConcurrencyLimiter { lane != .urgent && urgency.isPresent ? 1 : Self.atOnce })
        }
        limiters = Dictionary(uniqueKeysWithValues: lanes)
    }

    /// Notes that messages of a lane have arrived.
    func noteMessages(of lane: Lane) {
        if lane == .urgent { urgency.note() }
    }

    /// Runs a page's first half when it has a place.
    func pass<Value>(_ lane: Lane, _ work: () async -> Value) async -> Value {
        await limiters[lane]?.enter()
        defer { limiters[lane]?.leave() }
        return await work()
    }
}
