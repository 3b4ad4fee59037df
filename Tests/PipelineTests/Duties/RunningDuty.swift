import AMQP
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import TestSupport
import Testing

/// One duty of the scheduler that runs during a test.
enum RunningDuty {
    /// Runs a duty together with a body and drains it afterwards.
    ///
    /// The duty publishes through the given broker address and counts in `metrics`. It uses the fixture's pool of
    /// database connections, unless `pool` is given.
    static func with(
        _ make: (SchedulerContext) -> any Service,
        on servers: ServerFixture,
        by broker: BrokerAddress? = nil,
        at time: any TimeSource = SystemTime(),
        metrics: MetricsRegistry = MetricsRegistry(),
        log: CapturedLog? = nil,
        pool: PostgresPool? = nil,
        clocks: ClockWatch? = nil,
        _ body: () async throws -> Void
    ) async throws {
        let publisher = Publisher(PublisherOptions(broker: try broker ?? servers.broker, name: "test, publishing"))
        publisher.start()
        let context = SchedulerContext(
            pool: pool ?? servers.pool,
            publisher: publisher,
            names: servers.names,
            time: time,
            logger: log.map { Logger(label: "test", sink: $0) }
                ?? Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
            metrics: metrics,
            clocks: clocks
        )
        let drain = DrainSignal()
        let duty = make(context)
        let running = Task { try await duty.run(until: drain) }
        let result: Result<Void, any Error>
        do {
            try await eventually("connected") { publisher.isConnected }
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        drain.fire()
        _ = try await running.value
        await publisher.close()
        try result.get()
    }
}
