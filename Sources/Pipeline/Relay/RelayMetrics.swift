package import ServiceRuntime
package import Store

/// The metrics of a relay.
struct RelayMetrics: Sendable {
    private let moved: Counter
    private let aside: Gauge

    init(_ registry: MetricsRegistry) {
        moved = registry.counter(
            "bellhop_relay_events_total",
            help: "Events of the outbox that the broker has confirmed."
        )
        aside = registry.gauge(
            "bellhop_relay_rows_set_aside",
            help: "Rows of the outbox that the broker has refused, and that are tried again within ten minutes."
        )
    }

    func published(_ count: Int) { moved.increment(by: count) }

    func setAside(_ count: Int) { aside.set(Double(count)) }
}

/// Measures an outbox for dashboards: its rows and the age of the oldest one.
package struct OutboxLagDuty: Service {
    package let name = "outbox meter"
    private let pool: ConnectionPool
    private let loop: DutyLoop
    private let rows: Gauge
    private let oldest: Gauge

    package init(pool: ConnectionPool, logger: Logger, metrics: MetricsRegistry, interval: Duration = .seconds(10)) {
        self.pool = pool
        loop = DutyLoop(
            interval: interval,
            trouble: "cannot measure the outbox",
            chance: .system,
            logger: logger.labelled(name)
        )
        rows = metrics.gauge(
            "bellhop_relay_rows",
            help: "Rows that wait in the outbox, counted to 100000."
        )
        oldest = metrics.gauge(
            "bellhop_relay_oldest_seconds",
            help: "Age of the oldest row of the outbox; 0 if none waits."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain) {
            let start = ContinuousClock.now
            let lag = try await OutboxLag(of: pool)
            rows.set(Double(lag.rows))
            oldest.set(lag.oldestAge)
            // A count that takes long, because the remains of many deleted rows cannot be vacuumed, is made less often.
            return .after(max(loop.interval, start.duration(to: .now) * 20))
        }
    }
}
