package import CLI
import HTTPServer
import Pipeline
import Postgres
package import ServiceRuntime
import Settings
import Store

/// The command `bellhop relay`.
package enum RelayCommand: Command {
    package static let name = "relay"
    package static let summary = "Moves a publisher's outbox table to the broker; any number may run concurrently."
    package static let isRole = true
    package static let synopsis = ["relay [--until-stdin-ends]", "relay --schema"]
    package static let options = [
        Option.switch("schema", "print the SQL of the outbox for the publisher's database, and the rights, and exit"),
        Option.untilStdinEnds,
    ]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard !call.words.has("schema") else {
            call.shell.print(OutboxSchema.script)
            return .done
        }
        let setup = try call.setup(requiring: [.amqpURL, .relayURL])
        let url = try setup.outboxURL()
        var watching = PoolOptions(url: url)
        watching.size = 0...2
        watching.applicationName = "bellhop relay, measuring"
        let process = try RoleProcess(setup, role: name, connections: 2, foreign: watching)
        // An unavailable database is not a fault: the relay waits for it.
        guard (try? await process.pool.isLentAnew()) != true else {
            throw CommandContext.transactionsPooled(.relayURL)
        }
        return try await serve(process, url, untilInputEnds: call.words.has(Option.untilStdinEnds.name))
    }

    private static func serve(
        _ process: RoleProcess,
        _ url: DatabaseURL,
        untilInputEnds: Bool
    ) async throws -> ExitCode {
        let outbox = PostgresPool(OutboxStore.poolOptions(url))
        let publisher = try process.startPublisher()
        let relay = OutboxRelay(
            OutboxRelay.Context(
                outbox: OutboxStore(pool: outbox, token: process.identity.id),
                listener: OutboxListener(url),
                publisher: publisher,
                names: process.setup.names,
                logger: process.logger,
                metrics: process.metrics
            )
        )
        let configuration = process.setup.configuration
        let ending = await process.run(
            [relay, OutboxLagDuty(pool: process.pool, logger: process.logger, metrics: process.metrics)],
            listen: configuration.metricsListen.shifted(by: portOffset) ?? configuration.metricsListen,
            untilInputEnds: untilInputEnds,
            checks: [
                ReadinessCheck(relay.name) { relay.hindrance }, ReadinessCheck("publisher") { publisher.obstacle },
                process.databaseCheck,
            ]
        )
        await publisher.close()
        await outbox.close()
        return ending
    }

    /// Offset of the relay's probe port from the base port that workers use.
    private static let portOffset = 103
}

extension CommandContext {
    fileprivate func outboxURL() throws -> DatabaseURL {
        guard let url = configuration.relayURL else { throw Self.missing(.relayURL) }
        return try DatabaseURL(url.revealed)
    }
}
