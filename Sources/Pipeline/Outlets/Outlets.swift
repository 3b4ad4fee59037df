package import BellhopRules
package import Push
package import ServiceRuntime
package import Store
import Synchronization

/// The outlets of a worker: every app at every one of its providers, and its mail relay.
package final class Outlets: Sendable {
    /// The dependencies of outlets.
    package struct Context: Sendable {
        let store: any OutletStore
        let logger: Logger
        let metrics: MetricsRegistry
        let time: any TimeSource

        /// `store` is shared by all workers.
        package init(
            store: any OutletStore,
            logger: Logger,
            metrics: MetricsRegistry,
            time: any TimeSource = SystemTime()
        ) {
            self.store = store
            self.logger = logger
            self.metrics = metrics
            self.time = time
        }
    }

    /// The keys of all configured outlets.
    let keys: Set<OutletKey>
    /// The operators' holds; they apply before any check of the provider.
    let holds: ActiveHolds
    private let outlets: [OutletKey: Outlet]
    private let breakers: SharedBreakers
    private let signal: BacklogSignal
    /// Open breakers of outlets that are not configured here, for the metric.
    private let breakersElsewhere = Mutex<Set<BreakerKey>>([])

    /// Creates the outlets and their windows.
    ///
    /// One provider of one app may hold at most half of each lane's prefetch, and all together three quarters. Slow
    /// providers therefore leave a part to the others, and to messages that need no outlet.
    ///
    /// Over all lanes, an outlet may have twice as many pushes in flight as its sender's own window. This keeps the
    /// sender busy, and pushes do not outlast their leases inside a slow sender.
    ///
    /// `prefetch` is the number of messages that each lane may hold.
    package init(
        _ senders: [AppID: [PushProvider: any PushSender]],
        mail: [AppID: EmailSender] = [:],
        prefetch: [Lane: Int],
        context: Context
    ) {
        holds = ActiveHolds(store: context.store, logger: context.logger, metrics: context.metrics)
        breakers = SharedBreakers(store: context.store, logger: context.logger, metrics: context.metrics)
        signal = BacklogSignal()
        let shared = Outlet.Shared(
            holds: holds,
            breakers: breakers,
            budgets: RateBudget(store: context.store, time: context.time, logger: context.logger),
            signal: signal,
            time: context.time
        )
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        let quota = LaneQuota(prefetch.mapValues { max(1, $0 / 4 * 3) })
        let window = { SendWindow(capacity: $0, limits: limits, shares: quota, time: context.time) }
        var outlets: [OutletKey: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                let key = OutletKey(app: app, provider: provider)
                outlets[key] = Outlet(key, window(Self.doubled(sender.window)), budget: sender.budget, shared) {
                    await sender.send(Self.pushes(of: $0))
                }
            }
        }
        for (app, sender) in mail {
            let key = OutletKey.email(of: app)
            // A mail may take most of a minute; one that waited in its sender would outlast its lease there.
            outlets[key] = Outlet(key, window(sender.window), shared) {
                await sender.send($0.compactMap(\.payload.mail))
            }
        }
        self.outlets = outlets
        keys = Set(outlets.keys)
    }

    /// Copies each message once; a `map` chain would copy it three times.
    private static func pushes(of shipments: [OutgoingDelivery]) -> [PushMessage] {
        var pushes: [PushMessage] = []
        pushes.reserveCapacity(shipments.count)
        for shipment in shipments {
            if case .push(let message) = shipment.payload { pushes.append(message) }
        }
        return pushes
    }

    private static func doubled(_ window: Int) -> Int {
        let (doubled, isTooMuch) = window.multipliedReportingOverflow(by: 2)
        return isTooMuch ? .max : doubled
    }

    subscript(_ key: OutletKey) -> Outlet? { outlets[key] }

    // MARK: - Backlogs

    /// A backlog with its outlet.
    struct Backlog: Sendable {
        let outlet: Outlet
        let key: BacklogKey
    }

    /// Notes that deliveries were added to backlogs.
    ///
    /// No worker without the outlet needs to know: another worker serves them, or the poller releases them.
    func note(_ entries: [BacklogEntry]) {
        guard !entries.isEmpty else { return }
        for entry in Set(entries) { outlets[OutletKey(entry.place.key)]?.backlogs.note(entry) }
        signal.wake()
    }

    /// The backlogs in which deliveries are known to wait.
    var knownBacklogs: [BacklogKey] { outlets.values.flatMap(\.backlogs.known) }

    /// Marks backlogs with waiting deliveries as served, and returns them.
    ///
    /// Backlogs that are served or rest are left out.
    func takeUnserved(at now: ContinuousClock.Instant, among priorities: Set<Priority>) -> [Backlog] {
        outlets.values.flatMap { outlet in
            outlet.backlogs.takeUnserved(at: now, among: priorities).map { Backlog(outlet: outlet, key: $0) }
        }
    }

    /// Returns the pulled deliveries per second of each backlog, or `nil` if it is not measured yet.
    func takeRates() -> [(key: BacklogKey, rate: Int?)] {
        outlets.values.flatMap { $0.backlogs.takeRates() }
    }

    /// Waits until a backlog changes, for at most `span`, and no longer than until the drain or the end of a pause.
    func waitForBacklogs(atMost span: Duration, from now: ContinuousClock.Instant, until drain: DrainSignal) async {
        let end = outlets.values.lazy.compactMap { $0.backlogs.firstEnd(after: now) }.min()
        await signal.wait(atMost: min(span, end.map { $0 - now } ?? span), until: drain)
    }

    // MARK: - State shared by all workers

    /// Reads the holds and the reached platforms before anything is sent.
    package func load() async throws(StoreError) {
        try await holds.load()
        try await loadReachedPlatforms()
    }

    private func loadReachedPlatforms() async throws(StoreError) {
        let parts = Dictionary(grouping: try await breakers.store.platformsReached()) { OutletKey($0) }
        for (key, outlet) in outlets { outlet.note(reached: Set((parts[key] ?? []).compactMap(\.platform))) }
    }

    /// Reads the breakers that other workers have opened or closed, and the reached platforms.
    ///
    /// If the database is unavailable, the known ones stay in effect.
    package func refresh() async {
        let known = outlets.values.flatMap(\.storedBreakers) + breakersElsewhere.withLock { Array($0) }
        do throws(StoreError) {
            let all = try await breakers.store.openBreakers()
            for breaker in all { remember(breaker) }
            let open = Set(all.map(\.key))
            for key in known where !open.contains(key) { forget(key) }
            try await loadReachedPlatforms()
        } catch {
            breakers.logger.warning("cannot read circuit breakers and reached devices", ["error": .error(error)])
        }
    }

    private func remember(_ breaker: OpenBreaker) {
        if let outlet = outlets[OutletKey(breaker.key)] {
            outlet.remember(breaker.key, breaker.reason, probeIn: breaker.probeIn)
        } else {
            breakers.show(breaker.key, isOpen: true)
            breakersElsewhere.withLock { _ = $0.insert(breaker.key) }
        }
    }

    private func forget(_ key: BreakerKey) {
        if let outlet = outlets[OutletKey(key)] { return outlet.forget(key) }
        breakers.show(key, isOpen: false)
        breakersElsewhere.withLock { _ = $0.remove(key) }
    }

    // MARK: - For operators

    /// Returns the current streaks of failures, as this worker sees them, and the successes that ended others.
    func streaks(at now: Timestamp) -> (outages: [ProviderOutage], successes: [ProviderSuccess]) {
        var (outages, successes): ([ProviderOutage], [ProviderSuccess]) = ([], [])
        for outlet in outlets.values {
            switch outlet.streak(at: now) {
            case .failing(let outage)?: outages.append(outage)
            case .accepting(let success)?: successes.append(success)
            case nil: continue
            }
        }
        return (outages, successes)
    }

    /// The open breakers of this worker's outlets.
    var openBreakers: [BreakerKey] { outlets.values.flatMap(\.openBreakers) }

    /// Returns the latest requests to each outlet.
    func activities(at now: Timestamp) -> [OutletActivity] {
        outlets.values.map { $0.activity(at: now) }
    }

    /// The messages that providers have accepted since the worker's start.
    var accepted: Int { outlets.values.reduce(0) { $0 + $1.accepted } }
}

/// Keeps a worker's breakers and holds up to date with the shared state in the database.
package struct OutletRefresher: Service {
    package let name = "breakers"
    private let outlets: Outlets
    private let interval: Duration

    package init(_ outlets: Outlets, interval: Duration = .seconds(5)) {
        self.outlets = outlets
        self.interval = interval
    }

    /// An operator's hold takes effect within one or two seconds.
    private static let holdInterval = Duration.seconds(1)

    /// The interval while lanes drain, short so that the last poll does not delay the end.
    private static let lastInterval = Duration.milliseconds(250)

    package func run(until drain: DrainSignal) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await refreshHolds(drain) }
            group.addTask { await Self.repeatedly(every: interval, drain, outlets.refresh) }
        }
    }

    /// Continues while shipments are sent, because a lane may drain for as long as its slowest provider takes.
    private func refreshHolds(_ drain: DrainSignal) async {
        await Self.repeatedly(every: min(interval, Self.holdInterval), drain, outlets.holds.refresh)
        while !outlets.holds.isIdle, !Task.isCancelled {
            await outlets.holds.refresh()
            try? await Task.sleep(for: Self.lastInterval)
        }
    }

    private static func repeatedly(
        every interval: Duration,
        _ drain: DrainSignal,
        _ refresh: @Sendable () async -> Void
    ) async {
        while !drain.isDraining, !Task.isCancelled {
            await refresh()
            await drain.pause(for: interval)
        }
    }
}
