package import AMQP
package import Postgres
package import ServiceRuntime

/// What the scheduler's duties work with.
package struct DutyTools: Sendable {
    let pool: PostgresPool
    let publisher: Publisher
    let names: TopologyNames
    let time: any TimeSource
    let logger: Logger
    let metrics: MetricsRegistry

    package init(
        pool: PostgresPool,
        publisher: Publisher,
        names: TopologyNames,
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.pool = pool
        self.publisher = publisher
        self.names = names
        self.logger = logger
        self.metrics = metrics
        time = SystemTime()
    }
}

extension DrainSignal {
    /// Waits so long, or until the drain begins.
    func pause(for span: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: span) }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}
