import ServiceRuntime

/// Tracks the settled deliveries of one channel and computes the fewest frames that report them to the broker.
///
/// Delivery numbers start at 1 and grow by one. The frontier is the highest number below which all deliveries are
/// settled. Up to the frontier, one frame settles a whole run (`multiple`). Each settlement beyond the frontier needs a
/// separate frame, so that these may wait briefly for the frontier to reach them. A number is settled once, because the
/// broker closes a channel that settles a number twice.
struct AckTracker {
    enum Acknowledgement: Equatable {
        case acknowledged, released
    }

    /// One frame to send: `verdict` on `number`, or on all open deliveries up to it.
    struct AckFrame: Equatable {
        var verdict: Acknowledgement
        var number: UInt64
        var multiple: Bool
    }

    private enum State: Equatable {
        case held, told
        case settled(Acknowledgement)
    }

    /// The number of the first entry of `states`, which is the first number not behind the frontier.
    private var frontier: UInt64 = 1
    private var states = Queue<State>()
    private var settledSinceLastOrders: [UInt64] = []

    /// Records a delivery; returns `false` if its number is not the next one, which violates the protocol.
    mutating func deliver(_ number: UInt64) -> Bool {
        guard number == frontier + UInt64(states.count) else { return false }
        states.append(.held)
        return true
    }

    /// Settles a delivery; an unknown or already settled one is ignored.
    mutating func settle(_ number: UInt64, _ verdict: Acknowledgement) {
        guard let index = index(of: number), states[index] == .held else { return }
        states[index] = .settled(verdict)
        settledSinceLastOrders.append(number)
    }

    /// Whether all deliveries are settled and the settlements were sent.
    var isEmpty: Bool { states.isEmpty }

    /// The number of settlements beyond the frontier that were not sent.
    var waiting: Int { settledSinceLastOrders.count }

    /// Releases all unsettled deliveries.
    mutating func releaseHeld() {
        for index in states.indices where states[index] == .held {
            settle(frontier + UInt64(index), .released)
        }
    }

    /// Returns the frames for settlements up to the frontier, which advances as far as possible.
    mutating func takeRuns() -> [AckFrame] {
        guard !settledSinceLastOrders.isEmpty else { return [] }
        let runs = advanceFrontier()
        settledSinceLastOrders.removeAll { $0 < frontier }
        return runs
    }

    /// Returns the frames for settlements beyond the frontier, to be sent after those of `takeRuns`.
    mutating func takeSingles() -> [AckFrame] {
        var orders: [AckFrame] = []
        for number in settledSinceLastOrders {
            guard let index = index(of: number), case .settled(let verdict) = states[index] else { continue }
            states[index] = .told
            orders.append(AckFrame(verdict: verdict, number: number, multiple: false))
        }
        settledSinceLastOrders.removeAll(keepingCapacity: true)
        return orders
    }

    /// Advances past all settled deliveries at the front, and returns one order for each run of equal verdicts.
    private mutating func advanceFrontier() -> [AckFrame] {
        var runs: [AckFrame] = []
        var passed = 0
        walking: while passed < states.count {
            switch states[passed] {
            case .held: break walking
            case .told: break
            case .settled(let verdict):
                if let last = runs.indices.last, runs[last].verdict == verdict {
                    runs[last].number = frontier
                    runs[last].multiple = true
                } else {
                    runs.append(AckFrame(verdict: verdict, number: frontier, multiple: false))
                }
            }
            passed += 1
            frontier += 1
        }
        states.removeFirst(passed)
        return runs
    }

    private func index(of number: UInt64) -> Int? {
        guard number >= frontier, number - frontier < UInt64(states.count) else { return nil }
        return Int(number - frontier)
    }
}
