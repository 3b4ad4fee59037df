import AMQP
import BellhopRules
package import Postgres
package import ServiceRuntime

/// What the scheduler's duties work with.
package struct DutyTools: Sendable {
    let pool: PostgresPool
    let publisher: any MessagePublisher
    let names: TopologyNames
    let time: any TimeSource
    let chance: Chance
    let logger: Logger
    let metrics: MetricsRegistry

    package init(
        pool: PostgresPool,
        publisher: any MessagePublisher,
        names: TopologyNames,
        time: any TimeSource = SystemTime(),
        chance: Chance = .system,
        logger: Logger,
        metrics: MetricsRegistry
    ) {
        self.pool = pool
        self.publisher = publisher
        self.names = names
        self.logger = logger
        self.metrics = metrics
        self.time = time
        self.chance = chance
    }
}

extension DutyTools {
    /// The loop of the duty of that name; `trouble` is what the log says of a turn that failed.
    func loop(of duty: String, every interval: Duration, trouble: String) -> DutyLoop {
        DutyLoop(interval: interval, trouble: trouble, chance: chance, logger: logger.labelled(duty))
    }

    /// What sends resumes, for a duty that hands work over.
    func resumes(_ logger: Logger) -> ResumeSender {
        ResumeSender(publisher: publisher, names: names, time: time, chance: chance, logger: logger)
    }

    /// An event as a producer publishes it.
    func event(_ app: AppID, _ type: String, _ body: [UInt8]) -> OutgoingMessage {
        OutgoingMessage(
            exchange: names.events,
            routingKey: "\(app.text).\(type)",
            properties: MessageProperties(contentType: "application/json"),
            body: body
        )
    }
}
