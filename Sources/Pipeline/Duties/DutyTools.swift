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
    /// What keeps duties from deciding by a wrong clock; `nil` only if nothing is decided by one.
    let clocks: ClockWatch?

    package init(
        pool: PostgresPool,
        publisher: any MessagePublisher,
        names: TopologyNames,
        time: any TimeSource = SystemTime(),
        chance: Chance = .system,
        logger: Logger,
        metrics: MetricsRegistry,
        clocks: ClockWatch? = nil
    ) {
        self.pool = pool
        self.publisher = publisher
        self.names = names
        self.logger = logger
        self.metrics = metrics
        self.time = time
        self.chance = chance
        self.clocks = clocks
    }
}

extension DutyTools {
    /// The loop of the duty of that name; `trouble` is what the log says of a turn that failed.
    ///
    /// No turn begins while the clocks of this host and of the database differ.
    func loop(of duty: String, every interval: Duration, trouble: String) -> DutyLoop {
        DutyLoop(interval: interval, trouble: trouble, chance: chance, logger: logger.labelled(duty)) { [clocks] in
            await clocks?.agree() ?? true
        }
    }

    /// The same for one that only measures, and goes on whatever the clocks show.
    func meterLoop(of meter: String, every interval: Duration, trouble: String) -> DutyLoop {
        DutyLoop(interval: interval, trouble: trouble, chance: chance, logger: logger.labelled(meter))
    }

    /// The latest instant that counts as past by this host's clock: a database whose clock is further ahead finds nothing more
    /// due than this.
    var latest: Instant { time.now() + .seconds(60) }

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
