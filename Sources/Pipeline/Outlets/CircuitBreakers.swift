import BellhopRules
import Push
package import ServiceRuntime
package import Store
import Synchronization

/// Keeps deliveries from providers that reject our credentials or settings, and detects when they accept them again.
///
/// Workers share their breakers: an open breaker is a row that each worker reads every few seconds. If its probe is
/// due, one of the workers with deliveries for it may send a single message; a good answer closes the breaker.
///
/// Thread safety: all state is behind one lock, which is never held across a suspension.
package final class CircuitBreakers: Sendable {
    private struct Opened {
        var reason: String
        /// The earliest time of the next probe.
        var probeAt: ContinuousClock.Instant
        /// Whether the breaker is stored in the database.
        ///
        /// A breaker that is not stored yet does not close because its row is missing.
        var isTold: Bool
    }

    private struct State {
        var open: [BreakerKey: Opened] = [:]
        /// The end of the pause that each provider requested.
        var rests: [OutletKey: ContinuousClock.Instant] = [:]
        var deaths: [OutletKey: MassRevocationDetector] = [:]
        /// The same for reached devices only.
        var deathsOfReached: [OutletKey: MassRevocationDetector] = [:]
        var acceptances = AcceptanceHistoryCache()
        /// The time until which gone devices are accepted in any number, because an alarm has just proved wrong.
        var believed: [OutletKey: ContinuousClock.Instant] = [:]
    }

    /// The operators' holds; they apply before any check of the provider.
    package let brakes: ActiveHolds
    package let streaks = ProviderFailureStreaks()

    private let state = Mutex(State())
    private let store: any OutletStore
    private let time: any TimeSource
    /// The origin of the minute numbers.
    private let start: ContinuousClock.Instant
    private let logger: Logger
    private let openings: LabelledMetric<Counter>
    private let openNow: LabelledMetric<Gauge>

    /// Creates closed breakers; `store` is shared by all workers.
    package init(
        store: any OutletStore,
        time: any TimeSource = SystemTime(),
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.store = store
        self.time = time
        start = time.steady()
        self.logger = logger.labelled("breakers")
        brakes = ActiveHolds(store: store, logger: logger, metrics: metrics)
        openings = metrics.counter(
            "bellhop_breaker_openings_total",
            help: "Breakers that this process opened, or found still needed by a probe.",
            labels: ["app", "provider", "reason"]
        )
        openNow = metrics.gauge(
            "bellhop_breaker_open",
            help: "1 while the breaker is open.",
            labels: ["app", "provider", "platform"]
        )
    }

    /// Whether nothing blocks an outlet, which is by far the most frequent case.
    func isClear(_ outlet: OutletKey) -> Bool {
        guard brakes.isClear(outlet.app) else { return false }
        return state.withLock { state in
            state.rests[outlet] == nil && !state.open.keys.contains { $0.isOf(outlet) }
        }
    }

    /// The permission for messages to pass.
    enum Admission: Sendable, Equatable {
        case free
        /// One message may pass, as a probe.
        case probe(BreakerKey)
        case held(Hold)
    }

    /// Returns the obstacle to messages for one platform and one type, according to this worker's state, without a
    /// query.
    func hold(_ outlet: OutletKey, platform: DevicePlatform?, type: EventType? = nil) -> Hold? {
        brakes.hold(outlet, type: type) ?? obstacle(outlet, platform: platform)
    }

    /// Returns the same for a shipment, with the types of all deliveries that it includes.
    func hold(_ outlet: OutletKey, of shipment: OutgoingDelivery) -> Hold? {
        brakes.hold(outlet, of: shipment) ?? obstacle(outlet, platform: shipment.platform)
    }

    /// Returns the obstacle on the provider's side.
    private func obstacle(_ outlet: OutletKey, platform: DevicePlatform?) -> Hold? {
        let now = time.steady()
        return state.withLock { state in
            if let until = state.rests[outlet] {
                guard until <= now else {
                    return Hold(hindrance: .providerRests, backlog: BacklogKey(outlet), wait: until - now)
                }
                state.rests[outlet] = nil
            }
            let open = Self.breakers(of: outlet, platform).compactMap { key in state.open[key].map { (key, $0) } }
            guard let (first, _) = open.first else { return nil }
            let wait = (open.map(\.1.probeAt).max() ?? now) - now
            return Hold(hindrance: .breaker, backlog: first, wait: max(.zero, wait))
        }
    }

    /// Decides whether the next deliveries of a backlog may pass, for one platform if only that is blocked.
    ///
    /// Of all workers that reach a breaker with a due probe, one may send it.
    func passage(_ outlet: OutletKey, platform: DevicePlatform?) async -> Admission {
        guard let hold = hold(outlet, platform: platform) else { return .free }
        // This comes before any claim, so that a probe is not granted for one breaker while another blocks it.
        guard hold.mayBeOver else { return .held(hold) }
        var probe: BreakerKey?
        for key in Self.breakers(of: outlet, platform) {
            guard let reason = state.withLock({ $0.open[key]?.reason }) else { continue }
            // A delivery tests one breaker. The other one is tested after this one has closed.
            guard probe == nil else { break }
            switch await knock(key) {
            case .isClosed: forget(key)
            case .mayProbe: probe = key
            case .later(let wait):
                remember(key, reason, probeIn: wait)
                return .held(Hold(hindrance: .breaker, backlog: key, wait: wait))
            }
        }
        return probe.map { .probe($0) } ?? .free
    }

    /// Mails have no platform.
    ///
    /// The outlet's breaker is the only one, and its probe must be claimed only once.
    private static func breakers(of outlet: OutletKey, _ platform: DevicePlatform?) -> [BreakerKey] {
        [BreakerKey(outlet)] + (platform == nil ? [] : [BreakerKey(outlet, platform: platform)])
    }

    /// Acts on the combined meaning of the answers to a batch: opens and closes breakers and starts pauses.
    ///
    /// `probe` is the breaker that these messages were to test.
    ///
    /// - Returns: The verdict on each message; `nil` if it waits behind a breaker that opens now.
    func judge(_ verdicts: [Verdict], of shipments: [OutgoingDelivery], _ outlet: OutletKey, probe: BreakerKey?) async
        -> [Verdict?]
    {
        streaks.note(verdicts, outlet, at: time.timestamp)
        let outcome = outcome(of: verdicts, of: shipments, outlet, probe: probe)
        if let wait = outcome.rest { rest(outlet, for: wait) }
        let refusals = outcome.refusals
        for (key, reason) in refusals { await open(key, reason, isProbe: key == probe) }
        if let probe, refusals[probe] == nil, outcome.provesAccess { await close(probe) }
        return outcome.rulings
    }

    /// Notes the answers to a batch and evaluates them.
    ///
    /// The batch's own acceptances count for the evaluation of its errors.
    private func outcome(
        of verdicts: [Verdict],
        of shipments: [OutgoingDelivery],
        _ outlet: OutletKey,
        probe: BreakerKey?
    ) -> BatchOutcome {
        let now = time.steady()
        return state.withLock { state in
            state.acceptances.note(verdicts, of: shipments, outlet, at: now)
            // If all were accepted, earlier observations change nothing.
            let isPlain = verdicts.allSatisfy(\.isTaken)
            let history = isPlain ? .everybody : state.acceptances.history(outlet, at: now)
            let probed = probe.flatMap { state.open[$0]?.reason }
            var outcome = BatchOutcome(
                verdicts,
                of: shipments,
                outlet,
                probed.map { AcceptanceHistory(probed: $0) } ?? history
            )
            outcome.isMassDeath = isMassDeath(outcome, outlet, history, &state, at: now)
            return outcome
        }
    }

    /// Opens the breaker because a provider's receipts report so many devices gone that sending must stop for now.
    func openForMassDeath(_ outlet: OutletKey) async {
        await open(BreakerKey(outlet), OpenBreaker.massDeath, isProbe: false)
    }

    /// Opens the breaker because a provider's receipts reject our credentials or settings so often that sending must
    /// stop for now.
    func open(_ outlet: OutletKey, refusedFor reason: VerdictReason) async {
        await open(BreakerKey(outlet), reason.rawValue, isProbe: false)
    }

    /// Detects a mass failure of devices.
    ///
    /// After the alarm, the remaining answers in flight are not accepted either.
    ///
    /// Unreached devices count only if the app has no reached device. Browsers are excluded: anybody can register large
    /// numbers of dead endpoints, and must not be able to block other users.
    private func isMassDeath(
        _ outcome: BatchOutcome,
        _ outlet: OutletKey,
        _ history: AcceptanceHistory,
        _ state: inout State,
        at now: ContinuousClock.Instant
    ) -> Bool {
        guard outlet.provider != PushProvider.webpush.rawValue else { return false }
        let (deaths, ofReached) = (outcome.deaths, outcome.deathsOfReached)
        let minute = (now - start).components.seconds / 60
        let isAlarmed = deaths.people > 0 && state.open[BreakerKey(outlet)]?.reason == OpenBreaker.massDeath
        var isMassDeath = isAlarmed
        if let until = state.believed[outlet], until > now {
            guard isAlarmed else { return false }
        } else {
            state.believed[outlet] = nil
            let all = state.deaths[outlet, default: MassRevocationDetector()].take(
                gone: deaths.people,
                of: deaths.answers,
                atMinute: minute
            )
            let reached = state.deathsOfReached[outlet, default: MassRevocationDetector()].take(
                gone: ofReached.people,
                of: ofReached.answers,
                atMinute: minute
            )
            isMassDeath = isAlarmed || reached || (all && !history.hasReachedDevices)
        }
        guard isMassDeath else { return false }
        state.deaths[outlet]?.reset()
        state.deathsOfReached[outlet]?.reset()
        return true
    }

    // MARK: - State shared by all workers

    /// Reads the holds and the reached platforms before anything is sent.
    package func load() async throws(StoreError) {
        try await brakes.load()
        try await loadReachedPlatforms()
    }

    private func loadReachedPlatforms() async throws(StoreError) {
        let reached = try await store.platformsReached()
        state.withLock { $0.acceptances.reached = reached }
    }

    /// Reads the breakers that other workers have opened or closed, and the reached platforms.
    ///
    /// If the database is unavailable, the known ones stay in effect.
    package func refresh() async {
        let known = state.withLock { $0.open.filter(\.value.isTold).keys }
        do throws(StoreError) {
            let all = try await store.openBreakers()
            for breaker in all { remember(breaker.key, breaker.reason, probeIn: breaker.probeIn) }
            let open = Set(all.map(\.key))
            for key in known where !open.contains(key) { forget(key) }
            try await loadReachedPlatforms()
        } catch {
            logger.warning("cannot read circuit breakers and reached devices", ["error": .error(error)])
        }
    }

    private func open(_ key: BreakerKey, _ reason: String, isProbe: Bool) async {
        openings.with(key.app.text, key.provider, reason).increment()
        let isNew = remember(key, reason, probeIn: store.firstPause, isTold: false)
        if isNew {
            logger.error(
                "provider rejected our configuration, deferring deliveries",
                [
                    "app": .text(key.app.text), "provider": .text(key.provider), "reason": .text(reason),
                    "platform": .text(key.platform?.rawValue ?? "all"),
                ]
            )
        }
        do throws(StoreError) {
            if isProbe {
                // Another such device provides little evidence about the provider; the next probe may reach a working
                // device.
                try await store.reopen(key, reason: reason, isTelling: !Self.guesses.contains(reason))
            } else {
                try await store.open(key, reason: reason)
            }
            state.withLock { $0.open[key]?.isTold = true }
            if isNew, reason == OpenBreaker.massDeath { try await takeBack(key) }
        } catch {
            logger.warning("cannot store an open breaker", ["error": .error(error)])
        }
    }

    /// Reasons that are only inferred from the number of affected users.
    private static let guesses: Set<String> = [
        OpenBreaker.massDeath, VerdictReason.senderIDMismatch.rawValue, VerdictReason.badDeviceToken.rawValue,
        VerdictReason.deviceTokenNotForTopic.rawValue,
    ]

    /// Restores devices that were revoked by doubtful answers.
    ///
    /// `close` restores the devices that are missed here.
    private func takeBack(_ key: BreakerKey) async throws(StoreError) {
        guard let since = try await store.deathsSince(key) else { return }
        let count = try await store.takeBack(key, since: since)
        if count > 0 { logger.error("restored devices revoked during a mass failure", ["devices": .integer(count)]) }
    }

    /// Closes a breaker and deletes its row last.
    ///
    /// If the restoration fails, the breaker stays open, and its next probe repeats both steps.
    private func close(_ key: BreakerKey) async {
        do throws(StoreError) {
            // This includes devices that were being revoked during the alarm and could not be restored yet.
            try await takeBack(key)
            guard try await store.close(key) else { return forget(key) }
            forget(key)
            logger.notice(
                "provider accepts messages again",
                ["app": .text(key.app.text), "provider": .text(key.provider)]
            )
        } catch {
            logger.warning("cannot store a closed breaker", ["error": .error(error)])
        }
    }

    /// Returns a probe because no delivery was found to send it with.
    func giveBackProbe(of key: BreakerKey) async {
        do throws(StoreError) {
            try await store.giveBackProbe(of: key)
            state.withLock { $0.open[key]?.probeAt = time.steady() }
        } catch {
            logger.warning("cannot return an unused probe", ["error": .error(error)])
        }
    }

    private func knock(_ key: BreakerKey) async -> ProbeClaim {
        do throws(StoreError) {
            return try await store.knock(key)
        } catch {
            logger.warning("cannot claim a probe", ["error": .error(error)])
            return .later(.seconds(5))
        }
    }

    /// Stores an open breaker, and returns whether it is new.
    @discardableResult
    private func remember(
        _ key: BreakerKey,
        _ reason: String,
        probeIn wait: Duration,
        isTold: Bool = true
    ) -> Bool {
        openNow.with(key.app.text, key.provider, key.platform?.rawValue ?? "").set(1)
        return state.withLock { state in
            let isTold = isTold || state.open[key]?.isTold ?? false
            let opened = Opened(reason: reason, probeAt: time.steady() + wait, isTold: isTold)
            return state.open.updateValue(opened, forKey: key) == nil
        }
    }

    /// Marks a breaker as closed.
    ///
    /// After a mass failure, the provider's answers are accepted for ten minutes. All deferred deliveries return
    /// together, and the devices among them that really are gone would otherwise raise the alarm again, indefinitely.
    private func forget(_ key: BreakerKey) {
        openNow.with(key.app.text, key.provider, key.platform?.rawValue ?? "").set(0)
        state.withLock { state in
            let opened = state.open.removeValue(forKey: key)
            guard opened?.reason == OpenBreaker.massDeath else { return }
            state.believed[OutletKey(key)] = time.steady() + .seconds(600)
        }
    }

    private func rest(_ outlet: OutletKey, for wait: Duration) {
        let until = time.steady() + wait
        state.withLock { $0.rests[outlet] = max(until, $0.rests[outlet] ?? until) }
    }
}
