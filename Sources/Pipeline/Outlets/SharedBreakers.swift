import ServiceRuntime
import Store

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
