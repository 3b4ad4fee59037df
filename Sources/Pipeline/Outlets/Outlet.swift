import BellhopRules
import Push
import ServiceRuntime
import Store
import Synchronization

/// One app at one of its providers, or its mail relay: whether deliveries may be sent there now, and what its answers
/// mean.
///
/// It owns its window, its backlogs, its breakers and the tally of its answers. It refers to what outlets share: the
/// budget of the provider's account, the operators' holds, and the quotas of the lanes, to which its window refers.
///
/// Thread safety: all state is behind one lock, which is never held across a suspension.
final class Outlet: Sendable {
    /// Sends the shipments of this outlet and returns one verdict for each, in the same order.
    typealias Send = @Sendable ([OutgoingDelivery]) async -> [Verdict]

    struct State {
        /// The end of the pause that the provider requested.
        var silentUntil: ContinuousClock.Instant?
        /// The open breakers: of the whole outlet, or of one platform.
        var breakers: [BreakerKey: OpenedBreaker] = [:]
        var answers: AnswerTally
        var streak: ProviderFailureStreak?
        var tally: OutletTally
    }

    let key: OutletKey
    let window: SendWindow
    let budget: AccountBudget?
    let backlogs: Backlogs
    let holds: ActiveHolds
    let send: Send
    let shared: SharedBreakers
    let time: any TimeSource
    let state: Mutex<State>
    /// The origin of the minute numbers.
    private let start: ContinuousClock.Instant

    /// The objects that all outlets of a worker share.
    struct Shared {
        let holds: ActiveHolds
        let breakers: SharedBreakers
        let budgets: RateBudget
        let signal: BacklogSignal
        let time: any TimeSource
    }

    init(_ key: OutletKey, _ window: SendWindow, budget: PushBudget? = nil, _ shared: Shared, send: @escaping Send) {
        self.key = key
        self.window = window
        self.budget = budget.map { AccountBudget(rate: $0, shares: shared.budgets) }
        self.send = send
        backlogs = Backlogs(of: key, signal: shared.signal, time: shared.time)
        holds = shared.holds
        self.shared = shared.breakers
        time = shared.time
        state = Mutex(State(answers: AnswerTally(of: key), tally: OutletTally(from: shared.time.timestamp)))
        start = time.steady()
    }

    // MARK: - Gates

    /// Whether the gates before the backlog are open, which is by far the most frequent case.
    var isClear: Bool {
        holds.isClear(key.app) && state.withLock { $0.silentUntil == nil && $0.breakers.isEmpty }
    }

    /// Returns the obstacle to messages for one platform and one type: the first closed gate before the backlog,
    /// according to this worker's state, without a query.
    func obstacle(platform: DevicePlatform?, type: EventType? = nil) -> Obstacle? {
        holds.obstacle(at: key, type: type) ?? providersObstacle(platform)
    }

    /// Returns the same for a shipment, with the types of all deliveries that it includes.
    func obstacle(to shipment: OutgoingDelivery) -> Obstacle? {
        holds.obstacle(at: key, to: shipment) ?? providersObstacle(shipment.platform)
    }

    private func providersObstacle(_ platform: DevicePlatform?) -> Obstacle? {
        let now = time.steady()
        return state.withLock { state in
            if let end = state.silentUntil {
                guard end <= now else {
                    return Obstacle(gate: .silence, backlog: BacklogKey(key), wait: end - now)
                }
                state.silentUntil = nil
            }
            let open = breakers(for: platform).compactMap { key in state.breakers[key].map { (key, $0) } }
            guard let (first, _) = open.first else { return nil }
            let wait = (open.map(\.1.probeAt).max() ?? now) - now
            return Obstacle(gate: .breaker, backlog: first, wait: max(.zero, wait))
        }
    }

    /// Returns the shipments that may ask for a place, and the dispositions of the others.
    ///
    /// Pulled shipments have had their turn in the backlog.
    func admit(
        _ shipments: [OutgoingDelivery],
        from lane: Lane,
        arePulled: Bool
    ) -> (free: [OutgoingDelivery], deferred: [Disposition]) {
        var free: [OutgoingDelivery] = []
        var deferred: [Disposition] = []
        let isClear = isClear
        for shipment in shipments {
            if !isClear, let obstacle = obstacle(to: shipment) {
                deferred += shipment.put(behind: obstacle, from: lane)
            } else if !arePulled, let backlog = backlogs.ahead(of: shipment, in: lane) {
                deferred += shipment.put(behind: Obstacle(gate: .backlog, backlog: backlog), from: lane)
            } else {
                free.append(shipment)
            }
        }
        return (free, deferred)
    }

    /// Returns the shipments that may be sent in their places, and the dispositions of the others.
    ///
    /// If half of a lease is over, another worker could claim the delivery before the answer arrives. A shipment that
    /// waited for its place may be under a hold by now.
    func release(
        _ shipments: [OutgoingDelivery],
        from lane: Lane,
        beginningWithin span: Duration
    ) -> (free: [OutgoingDelivery], deferred: [Disposition]) {
        let now = time.steady()
        let hasLapsed = { (shipment: OutgoingDelivery) in shipment.lease?.hasLasted(span, at: now) ?? false }
        let lapsed = shipments.filter(hasLapsed)
        let timely = lapsed.isEmpty ? shipments : shipments.filter { !hasLapsed($0) }
        var deferred = put(lapsed, behind: .lease, from: lane)
        guard !holds.isClear(key.app) else { return (timely, deferred) }
        var free: [OutgoingDelivery] = []
        for shipment in timely {
            if let held = holds.obstacle(at: key, to: shipment) {
                let obstacle = Obstacle(gate: .holdAgain, backlog: held.backlog)
                deferred += shipment.put(behind: obstacle, from: lane)
            } else {
                free.append(shipment)
            }
        }
        return (free, deferred)
    }

    /// Defers shipments to the backlog of the whole outlet, because a gate is closed.
    func put(
        _ shipments: some Sequence<OutgoingDelivery>,
        behind gate: Gate,
        from lane: Lane
    ) -> [Disposition] {
        let obstacle = Obstacle(gate: gate, backlog: BacklogKey(key))
        return shipments.flatMap { $0.put(behind: obstacle, from: lane) }
    }

    // MARK: - Answers

    /// Acts on the combined meaning of the answers to a batch: opens and closes breakers and starts pauses.
    ///
    /// `probe` is the breaker that these messages were to test.
    ///
    /// - Returns: The verdict on each message; `nil` if it waits behind a breaker that opens now.
    func evaluate(
        _ verdicts: [Verdict],
        of shipments: [OutgoingDelivery],
        probing probe: BreakerKey?
    ) async -> [Verdict?] {
        let outcome = outcome(of: verdicts, to: shipments, probing: probe)
        if let wait = outcome.rest { keepSilence(for: wait) }
        let refusals = outcome.refusals
        for (key, reason) in refusals { await open(key, reason, isProbe: key == probe) }
        if let probe, refusals[probe] == nil, outcome.provesAccess { await close(probe) }
        return outcome.rulings
    }

    private func outcome(
        of verdicts: [Verdict],
        to shipments: [OutgoingDelivery],
        probing probe: BreakerKey?
    ) -> BatchOutcome {
        let (now, timestamp) = (time.steady(), time.timestamp)
        return state.withLock { state in
            state.streak = .after(verdicts, state.streak, at: key, now: timestamp)
            let open = AnswerTally.OpenReasons(
                outlet: state.breakers[BreakerKey(key)]?.reason,
                probed: probe.flatMap { state.breakers[$0]?.reason }
            )
            let second = (now - start).components.seconds
            return state.answers.outcome(of: verdicts, to: shipments, open, at: now, second: second)
        }
    }

    /// Opens the breaker if the receipts of one poll indicate a configuration error.
    ///
    /// The provider accepted these messages and then could not pass them on.
    ///
    /// - Returns: Whether there is a mass failure of devices; if so, no answer that a device is gone is accepted.
    func evaluate(receipts answers: [MassFailure.Answer], at now: Instant) async -> Bool {
        guard !state.withLock({ $0.answers.detectsMassFailure(inReceipts: answers, at: now) }) else {
            await open(BreakerKey(key), OpenBreaker.massDeath, isProbe: false)
            return true
        }
        if let reason = MassFailure.refusal(among: answers) {
            await open(BreakerKey(key), reason.rawValue, isProbe: false)
        }
        return false
    }

    private func keepSilence(for wait: Duration) {
        let end = time.steady() + wait
        state.withLock { $0.silentUntil = max(end, $0.silentUntil ?? end) }
    }

    /// Counts the answers to one request for operators.
    func count(_ verdicts: [Verdict], took span: Duration) {
        let now = time.timestamp
        state.withLock { $0.tally.note(verdicts, took: span, at: now) }
    }

    /// The accepted messages since the worker's start.
    var accepted: Int { state.withLock { $0.tally.allAccepted } }

    /// Returns the counts of the last minute or two, and the end of a requested pause.
    func activity(at now: Timestamp) -> OutletActivity {
        var (activity, end) = state.withLock { state in
            var activity = state.tally.activity(of: key, at: now)
            // During a mass failure no device ends.
            if state.breakers[BreakerKey(key)]?.reason == OpenBreaker.massDeath { activity.gone = 0 }
            return (activity, state.silentUntil)
        }
        if let left = end.map({ $0 - time.steady() }), left > .zero {
            activity.pausedUntil = Timestamp(clamping: now.microseconds + left.microseconds)
        }
        return activity
    }

    /// Returns the streak of failures, or the success that ended it, and forgets an old one.
    func streak(at now: Timestamp) -> ProviderFailureStreak? {
        state.withLock { state in
            if state.streak?.isCurrent(at: now) != true { state.streak = nil }
            return state.streak
        }
    }

    /// Notes the platforms of the app with reached devices.
    func note(reached platforms: Set<DevicePlatform>) {
        state.withLock { $0.answers.acceptances.reached = platforms }
    }
}
