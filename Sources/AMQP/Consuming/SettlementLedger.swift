import ServiceRuntime

/// Which deliveries of one channel are settled, and the fewest frames that tell the broker.
///
/// Delivery numbers start at 1 and grow by one. Up to the frontier, the highest number below which all is settled, one
/// frame speaks for a whole run (`multiple`); what is settled beyond the frontier needs a frame each, so those may wait
/// a little for the frontier to reach them. A number is settled once: the broker closes a channel that settles one
/// twice.
struct SettlementLedger {
    enum Verdict: Equatable {
        case acknowledged, released
    }

    /// One frame to send: `verdict` on `number`, or on all that is still open up to it.
    struct Order: Equatable {
        var verdict: Verdict
        var number: UInt64
        var multiple: Bool
    }

    private enum State: Equatable {
        case held, told
        case settled(Verdict)
    }

    /// The number that the first of `states` belongs to: the first one not behind the frontier.
    private var frontier: UInt64 = 1
    private var states = Queue<State>()
    private var settledSinceLastOrders: [UInt64] = []

    /// Notes a delivery; `false` if its number is not the next one, which no sound broker does.
    mutating func deliver(_ number: UInt64) -> Bool {
        guard number == frontier + UInt64(states.count) else { return false }
        states.append(.held)
        return true
    }

    /// Settles a delivery; one that is unknown or already settled is left alone.
    mutating func settle(_ number: UInt64, _ verdict: Verdict) {
        guard let index = index(of: number), states[index] == .held else { return }
        states[index] = .settled(verdict)
        settledSinceLastOrders.append(number)
    }

    /// Whether all that was delivered is settled, and the broker has been told.
    var isEmpty: Bool { states.isEmpty }

    /// How many are settled beyond the frontier, and the broker has not been told.
    var waiting: Int { settledSinceLastOrders.count }

    /// Releases everything that is not settled.
    mutating func releaseHeld() {
        for index in states.indices where states[index] == .held {
            settle(frontier + UInt64(index), .released)
        }
    }

    /// The frames for what is settled up to the frontier, which moves as far as it can.
    mutating func takeRuns() -> [Order] {
        guard !settledSinceLastOrders.isEmpty else { return [] }
        let runs = advanceFrontier()
        settledSinceLastOrders.removeAll { $0 < frontier }
        return runs
    }

    /// The frames for what is settled beyond the frontier, after those that `takeRuns` gave.
    mutating func takeSingles() -> [Order] {
        var orders: [Order] = []
        for number in settledSinceLastOrders {
            guard let index = index(of: number), case .settled(let verdict) = states[index] else { continue }
            states[index] = .told
            orders.append(Order(verdict: verdict, number: number, multiple: false))
        }
        settledSinceLastOrders.removeAll(keepingCapacity: true)
        return orders
    }

    /// Moves past everything settled at the front; one order for each run of equal verdicts.
    private mutating func advanceFrontier() -> [Order] {
        var runs: [Order] = []
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
                    runs.append(Order(verdict: verdict, number: frontier, multiple: false))
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
