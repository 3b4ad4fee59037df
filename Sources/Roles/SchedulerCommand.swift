import AMQP
import BellhopRules
package import CLI
import HTTPServer
import Pipeline
package import ServiceRuntime
import Settings
import Store

/// The command `bellhop scheduler`.
package enum SchedulerCommand: Command {
    package static let name = "scheduler"
    package static let summary = "Stores dead letters and runs due work; any number may run concurrently."
    package static let isRole = true
    package static let synopsis = ["scheduler [--until-stdin-ends]"]
    package static let options = [Option.untilStdinEnds]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setup(requiring: [.amqpURL, .databaseURL, .catalogs])
        let process = try RoleProcess(setup, role: name, connections: 5)
        let catalogs = try process.setup.catalogs()
        try await process.expectReady(catalogs)
        return try await serve(process, catalogs, untilInputEnds: call.words.has(Option.untilStdinEnds.name))
    }

    /// Runs the scheduler's services.
    ///
    /// This is a separate function because the optimiser of Swift 6.3.1 crashes if it also contains the checks before
    /// it.
    private static func serve(
        _ process: RoleProcess,
        _ catalogs: CatalogSet,
        untilInputEnds: Bool
    ) async throws -> ExitCode {
        let configuration = process.setup.configuration
        let subscriptions = [ConsumerOptions.Subscription(queue: process.setup.names.dead, prefetch: 1000)]
        let consumer = try process.consumer("dead letters", subscriptions, label: "dead-letter clerk")
        let publisher = try process.startPublisher()
        let source = CatalogSource(catalogs)
        let context = SchedulerContext(
            pool: process.pool,
            publisher: publisher,
            names: process.setup.names,
            logger: process.logger,
            metrics: process.metrics,
            clocks: process.clocks
        )
        let filer = DeadLetterFiler(context: context, makeConsumer: consumer)
        let letters = configuration.deadLetterRetention.map { DeadLetterRetentionDuty(context: context, retention: $0) }
        let stale = configuration.staleDevices.map { StaleDeviceDuty(context: context, stale: $0) }
        let release = DueDeliveryDuty(context: context, rhythm: .init(rate: configuration.handOverRate))
        let providers = ProviderWatchDuty(context: context, process: process.identity.id, catalogs: source)
        let ending = await process.run(
            [
                filer, release,
                ForgottenClaimDuty(context: context, rhythm: .init(lease: configuration.lease), beside: release),
                ReceiptDuty(context: context), FanoutPageDuty(context: context),
                DueEventDuty(context: context, age: configuration.wideEventAge), BadgeDuty(context: context),
                ReminderDuty(context: context, catalogs: source, zones: process.zones),
                ReplayRunner(context: context, horizon: configuration.replays),
                DeadLetterMetricsDuty(context: context, catalogs: source),
                FanoutMetricsDuty(context: context, catalogs: source),
                BacklogAgeDuty(context: context, catalogs: source),
                providers,
                ErasureDuty(context: context), RetentionDuty(context: context, retention: configuration.retention),
                process.reload(of: source),
                ClockDuty(process.clocks), FarInstantDuty(context: context),
                HeartbeatDuty(
                    process.identity,
                    book: HeartbeatStore(pool: process.pool),
                    source: source,
                    logger: process.logger,
                    hindrance: { [clocks = process.clocks] in clocks.whatIsWrong },
                    fill: { $0.remembered = providers.outages }
                ),
            ] + (letters.map { [$0] } ?? []) + (stale.map { [$0] } ?? []),
            listen: configuration.metricsListen.shifted(by: portOffset) ?? configuration.metricsListen,
            untilInputEnds: untilInputEnds,
            checks: process.checks(publisher) + [
                ReadinessCheck(filer.name) { filer.isReady ? nil : "not consuming" }
            ]
        )
        await publisher.close()
        return ending
    }

    /// Offset of the scheduler's probe port from the base port that workers use.
    private static let portOffset = 100
}
