import AMQP
import BellhopRules
package import ServiceRuntime
package import Store

/// The dependencies of the scheduler's duties.
package struct SchedulerContext: Sendable {
    let pool: ConnectionPool
    let publisher: any MessagePublisher
    let names: TopologyNames
    let time: any TimeSource
    let chance: RandomSource
    let logger: Logger
    let metrics: MetricsRegistry
    /// Prevents duties from acting on a wrong clock; `nil` only if no duty depends on one.
    let clocks: ClockWatch?

    package init(
        pool: ConnectionPool,
        publisher: any MessagePublisher,
        names: TopologyNames,
        time: any TimeSource = SystemTime(),
        chance: RandomSource = .system,
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

extension SchedulerContext {
    /// Returns a loop for a duty.
    ///
    /// `trouble` is the log message for a failed turn.
    ///
    /// No turn begins while the clocks of this host and of the database differ.
    func loop(of duty: String, every interval: Duration, trouble: String) -> DutyLoop {
        DutyLoop(interval: interval, trouble: trouble, chance: chance, logger: logger.labelled(duty)) { [clocks] in
            await clocks?.agree() ?? true
        }
    }

    /// Returns a loop for a duty that only measures and runs whatever the clocks show.
    func meterLoop(of meter: String, every interval: Duration, trouble: String) -> DutyLoop {
        DutyLoop(interval: interval, trouble: trouble, chance: chance, logger: logger.labelled(meter))
    }

    /// The latest instant that counts as past on this host's clock.
    ///
    /// If the database's clock is further ahead, nothing later than this is due.
    var latest: Instant { time.now() + .seconds(60) }

    /// Returns the sender of resumes for a duty that releases deliveries.
    func resumes(_ logger: Logger) -> ResumeSender {
        ResumeSender(publisher: publisher, names: names, time: time, chance: chance, logger: logger)
    }

    /// Returns the users whom a duty leaves out because the server fails on their rows.
    func failingUsers(_ duty: String, _ logger: Logger) -> FailingUsers {
        FailingUsers(taking: duty, time: time, logger: logger, metrics: SetAsideMetrics(metrics))
    }

    /// Returns an event in the form in which a producer publishes it.
    func event(_ app: AppID, _ type: String, _ body: [UInt8]) -> OutgoingMessage {
        OutgoingMessage(
            exchange: names.events,
            routingKey: "\(app.text).\(type)",
            properties: MessageProperties(contentType: "application/json"),
            body: body
        )
    }
}
