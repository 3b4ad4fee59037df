import AMQP
import BellhopRules
import HTTPServer
import Pipeline
import ServiceRuntime

/// The command `bellhop scheduler`.
struct SchedulerCommand: Command {
    static let name = "scheduler"
    static let summary = "Files dead letters and does what falls due; any number may run together."
    static let isRole = true
    static let synopsis = ["scheduler"]

    private let words: Words

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.amqpURL, .databaseURL, .catalogs])
        let process = try RoleProcess(configuration, role: Self.name, connections: 5)
        let catalogs = try process.footing.catalogs()
        try await process.verifyGround(catalogs)
        return try await serve(process, catalogs)
    }

    /// A function of its own: in one with the checks before it, Swift 6.3.1 crashes when it optimises.
    private func serve(_ process: RoleProcess, _ catalogs: CatalogSet) async throws -> ExitCode {
        let configuration = process.footing.configuration
        let options = ConsumerOptions(
            broker: try process.footing.broker(),
            name: "bellhop scheduler, dead letters",
            subscriptions: [.init(queue: process.footing.names.dead, prefetch: 1000)],
            presence: process.presence,
            observer: process.observe("dead-letter clerk")
        )
        let publisher = Publisher(
            PublisherOptions(
                broker: try process.footing.broker(),
                name: "bellhop scheduler, publishing",
                presence: process.presence,
                observer: process.observe("publisher")
            )
        )
        publisher.start()
        let source = CatalogSource(catalogs)
        let tools = DutyTools(
            pool: process.pool,
            publisher: publisher,
            names: process.footing.names,
            logger: process.logger,
            metrics: process.metrics
        )
        let clerk = DeadLetterClerk(tools: tools, makeConsumer: { Consumer(options) })
        let retention = configuration.deadLetterRetention.map { DeadLetterKeeper(tools: tools, retention: $0) }
        let ending = await process.run(
            [
                clerk, HandOver(tools: tools, rhythm: .init(rate: configuration.handOverRate)),
                ForgottenClaimFinder(tools: tools, rhythm: .init(lease: configuration.lease)),
                ReceiptHandOver(tools: tools), DueEventPublisher(tools: tools), BadgeBell(tools: tools),
                ReminderBell(tools: tools, catalogs: source, zones: process.zones),
                ReplayRunner(tools: tools), DeadLetterMeter(tools: tools, catalogs: source),
                ErasureDuty(tools: tools),
                process.reload(of: source),
            ] + (retention.map { [$0] } ?? []),
            listen: configuration.metricsListen.shifted(by: Self.portOffset) ?? configuration.metricsListen,
            checks: [
                ReadinessCheck(clerk.name) { clerk.isReady ? nil : "it does not consume" },
                ReadinessCheck("publisher") { publisher.isConnected ? nil : "it is not connected" },
                ReadinessCheck("database") { [pool = process.pool] in await pool.ping() ? nil : "it does not answer" },
            ]
        )
        await publisher.close()
        return ending
    }

    /// Where the scheduler's endpoint stands above the base that workers use.
    private static let portOffset = 100
}
