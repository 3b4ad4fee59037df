/// The progress of the walk through the ledger for forgotten claims.
///
/// The walk rests between two rounds. After the death of a process, a round begins without a rest as soon as all leases
/// of the process have ended.
struct ClaimWalk {
    /// The page at which the next step begins.
    var page: Int64 = 0
    private let rest: Duration
    private let lease: Duration
    private var restingUntil: ContinuousClock.Instant?
    /// The number of deaths at the latest turn, as its source counts them.
    private var deaths = 0
    /// When the leases of processes that have died end, the earliest first.
    private var leaseEnds: [ContinuousClock.Instant] = []
    /// Whether no rest follows the present round, which began before leases ended.
    private var goesOn = false

    init(rest: Duration, lease: Duration) {
        self.rest = rest
        self.lease = lease
    }

    /// Returns whether a step is due.
    ///
    /// `deaths` is a counter that increases when processes die. A claim of such a process began before.
    mutating func isDue(at now: ContinuousClock.Instant, deaths: Int) -> Bool {
        if deaths != self.deaths {
            self.deaths = deaths
            leaseEnds.append(now + lease)
        }
        if let end = leaseEnds.first, end <= now {
            leaseEnds.removeAll { $0 <= now }
            restingUntil = nil
            // A round that is not at its beginning is completed, so that frequent deaths do not keep it from the end.
            goesOn = page > 0
        }
        if let restingUntil, now < restingUntil { return false }
        restingUntil = nil
        return true
    }

    /// Notes the end of a step; `next` is the page that follows, or `nil` after the last one.
    mutating func end(before next: Int64?, at now: ContinuousClock.Instant) {
        page = next ?? 0
        guard next == nil else { return }
        restingUntil = goesOn ? nil : now + rest
        goesOn = false
    }
}
