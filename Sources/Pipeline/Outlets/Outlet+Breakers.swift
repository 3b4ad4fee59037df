import BellhopRules
import Push
import ServiceRuntime
import Store

/// An open breaker, according to this worker.
struct OpenedBreaker {
    var reason: String
    /// The earliest time of the next probe.
    var probeAt: ContinuousClock.Instant
    /// Whether the breaker is stored in the database.
    ///
    /// A breaker that is not stored yet does not close because its row is missing.
    var isStored: Bool
}

/// The breakers keep deliveries from a provider that rejects our credentials or settings, and detect when it accepts
/// them again.
///
/// Workers share their breakers: an open breaker is a row that each worker reads every few seconds. If its probe is
/// due, one of the workers with deliveries for it may send a single message; a good answer closes the breaker.
extension Outlet {
    /// The permission for messages to pass.
    enum Admission: Sendable, Equatable {
        case free
        /// One message may pass, as a probe.
        case probe(BreakerKey)
        case blocked(Obstacle)
    }

    /// Decides whether the next deliveries of a backlog may pass, for one platform if only that is blocked.
    ///
    /// Of all workers that reach a breaker with a due probe, one may send it.
    func admission(platform: DevicePlatform?) async -> Admission {
        guard let obstacle = obstacle(platform: platform) else { return .free }
        // This comes before any claim, so that a probe is not granted for one breaker while another blocks it.
        guard obstacle.mayBeOver else { return .blocked(obstacle) }
        var probe: BreakerKey?
        for key in breakers(for: platform) {
            guard let reason = state.withLock({ $0.breakers[key]?.reason }) else { continue }
            // A delivery tests one breaker. The other one is tested after this one has closed.
            guard probe == nil else { break }
            switch await shared.claimProbe(of: key) {
            case .isClosed: forget(key)
            case .mayProbe: probe = key
            case .later(let wait):
                remember(key, reason, probeIn: wait)
                return .blocked(Obstacle(gate: .breaker, backlog: key, wait: wait))
            }
        }
        return probe.map { .probe($0) } ?? .free
    }

    /// Mails have no platform.
    ///
    /// The outlet's breaker is the only one, and its probe must be claimed only once.
    func breakers(for platform: DevicePlatform?) -> [BreakerKey] {
        [BreakerKey(key)] + (platform == nil ? [] : [BreakerKey(key, platform: platform)])
    }

    func open(_ key: BreakerKey, _ reason: String, isProbe: Bool) async {
        shared.countOpening(of: key, reason)
        let isNew = remember(key, reason, probeIn: shared.store.firstPause, isStored: false)
        if isNew { shared.report(opened: key, reason) }
        do throws(StoreError) {
            if isProbe {
                // Another such device provides little evidence about the provider; the next probe may reach a working
                // device.
                try await shared.store.reopen(key, reason: reason, isTelling: !Self.guesses.contains(reason))
            } else {
                try await shared.store.open(key, reason: reason)
            }
            state.withLock { $0.breakers[key]?.isStored = true }
            if isNew, reason == OpenBreaker.massDeath { try await shared.restoreDevices(key) }
        } catch {
            shared.logger.warning("cannot store an open breaker", ["error": .error(error)])
        }
    }

    /// Reasons that are only inferred from the number of affected users.
    private static let guesses: Set<String> = [
        OpenBreaker.massDeath, VerdictReason.senderIDMismatch.rawValue, VerdictReason.badDeviceToken.rawValue,
        VerdictReason.deviceTokenNotForTopic.rawValue,
    ]

    /// Closes a breaker and deletes its row last.
    ///
    /// If the restoration fails, the breaker stays open, and its next probe repeats both steps.
    func close(_ key: BreakerKey) async {
        do throws(StoreError) {
            // This includes devices that were being revoked during the alarm and could not be restored yet.
            try await shared.restoreDevices(key)
            guard try await shared.store.close(key) else { return forget(key) }
            forget(key)
            shared.report(closed: key)
        } catch {
            shared.logger.warning("cannot store a closed breaker", ["error": .error(error)])
        }
    }

    /// Returns a probe because no delivery was found to send it with.
    func giveBackProbe(of key: BreakerKey) async {
        do throws(StoreError) {
            try await shared.store.giveBackProbe(of: key)
            state.withLock { $0.breakers[key]?.probeAt = time.steady() }
        } catch {
            shared.logger.warning("cannot return an unused probe", ["error": .error(error)])
        }
    }

    /// The open breakers, as this worker knows them.
    var openBreakers: [BreakerKey] { state.withLock { Array($0.breakers.keys) } }

    /// The open breakers that have a row.
    var storedBreakers: [BreakerKey] {
        state.withLock { Array($0.breakers.filter(\.value.isStored).keys) }
    }

    /// Notes an open breaker, and returns whether it is new.
    @discardableResult
    func remember(_ key: BreakerKey, _ reason: String, probeIn wait: Duration, isStored: Bool = true) -> Bool {
        shared.show(key, isOpen: true)
        return state.withLock { state in
            let isStored = isStored || state.breakers[key]?.isStored ?? false
            let opened = OpenedBreaker(reason: reason, probeAt: time.steady() + wait, isStored: isStored)
            return state.breakers.updateValue(opened, forKey: key) == nil
        }
    }

    /// Marks a breaker as closed.
    ///
    /// After a mass failure, the provider's answers are accepted for ten minutes. All deferred deliveries return
    /// together, and the devices among them that really are gone would otherwise raise the alarm again, indefinitely.
    func forget(_ key: BreakerKey) {
        shared.show(key, isOpen: false)
        let wasMassFailure = state.withLock { state in
            let opened = state.breakers.removeValue(forKey: key)
            guard opened?.reason == OpenBreaker.massDeath else { return false }
            state.answers.trust(until: time.steady() + .seconds(600))
            state.tally.forgetGone()
            return true
        }
        if wasMassFailure { shared.report(trusting: key) }
    }
}

/// The rows of breakers, which all workers share, with the metrics and log lines about them.
struct SharedBreakers: Sendable {
    let store: any OutletStore
    let logger: Logger
    private let openings: LabelledMetric<Counter>
    private let openNow: LabelledMetric<Gauge>

    init(store: any OutletStore, logger: Logger, metrics: MetricsRegistry) {
        self.store = store
        self.logger = logger.labelled("breakers")
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

    func countOpening(of key: BreakerKey, _ reason: String) {
        openings.with(key.app.text, key.provider, reason).increment()
    }

    func show(_ key: BreakerKey, isOpen: Bool) {
        openNow.with(key.app.text, key.provider, key.platform?.rawValue ?? "").set(isOpen ? 1 : 0)
    }

    func report(opened key: BreakerKey, _ reason: String) {
        logger.error(
            "provider rejected our configuration, deferring deliveries",
            [
                "app": .text(key.app.text), "provider": .text(key.provider), "reason": .text(reason),
                "platform": .text(key.platform?.rawValue ?? "all"),
            ]
        )
    }

    func report(closed key: BreakerKey) {
        logger.notice(
            "provider accepts messages again",
            ["app": .text(key.app.text), "provider": .text(key.provider)]
        )
    }

    func report(trusting key: BreakerKey) {
        logger.warning(
            "devices that the provider reports as gone end in any number for ten minutes, because it accepted a push",
            ["app": .text(key.app.text), "provider": .text(key.provider)]
        )
    }

    /// Claims the right to send the probe of a breaker.
    func claimProbe(of key: BreakerKey) async -> ProbeClaim {
        do throws(StoreError) {
            return try await store.knock(key)
        } catch {
            logger.warning("cannot claim a probe", ["error": .error(error)])
            return .later(.seconds(5))
        }
    }

    /// Restores devices that were revoked by doubtful answers.
    ///
    /// The close of a breaker restores the devices that are missed when it opens.
    func restoreDevices(_ key: BreakerKey) async throws(StoreError) {
        guard let since = try await store.deathsSince(key) else { return }
        let count = try await store.takeBack(key, since: since)
        if count > 0 { logger.error("restored devices revoked during a mass failure", ["devices": .integer(count)]) }
    }
}
