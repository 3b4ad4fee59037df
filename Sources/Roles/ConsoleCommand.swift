package import CLI
import Console
import HTTPServer
import Operations
package import ServiceRuntime
import Settings

/// The command `bellhop console`.
package enum ConsoleCommand: Command {
    package static let name = "console"
    package static let summary =
        "Serves the web console to operators: status, dead letters, fan-outs, holds, explanations."
    package static let isRole = true
    package static let synopsis = ["console [--until-stdin-ends]"]
    package static let options = [Option.untilStdinEnds]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setup(requiring: [.databaseURL, .operators])
        let process = try RoleProcess(
            setup,
            role: name,
            rights: .admin,
            connections: OperatorConsole.connections,
            patience: .seconds(120)
        )
        guard let file = setup.configuration.operators else { throw CommandContext.missing(.operators) }
        let operators = try WatchedDocument<OperatorFile>(file: file, time: process.time, logger: process.logger)
        // The schema is not checked, because a console that does not start without the database could not report that
        // the database is unavailable.
        return await serve(process, operators, untilInputEnds: call.words.has(Option.untilStdinEnds.name))
    }

    private static func serve(
        _ process: RoleProcess,
        _ operators: WatchedDocument<OperatorFile>,
        untilInputEnds: Bool
    ) async -> ExitCode {
        let configuration = process.setup.configuration
        let context = OperationsContext(configuration: configuration, pool: process.pool, zones: process.zones)
        let board = StatusCache(context, time: process.time)
        var surroundings = OperatorConsole.Surroundings(
            context,
            board: board,
            operators: operators,
            time: process.time,
            log: (process.logger, process.metrics)
        )
        surroundings.origin = configuration.consoleOrigin
        surroundings.docsURL = configuration.docsURL
        surroundings.proxies = configuration.apiProxies
        let console = OperatorConsole(surroundings)
        var limits = OperatorConsole.limits
        limits.manyFrom = configuration.apiProxies
        let service = HTTPService(
            name: "console",
            at: HTTPService.Place(configuration.consoleListen, from: Setting.consoleListen.environmentName),
            limits: limits,
            logger: process.logger,
            admission: console.admit,
            handler: console.respond(to:)
        )
        return await process.run(
            [service, board],
            listen: configuration.metricsListen.shifted(by: portOffset) ?? configuration.metricsListen,
            untilInputEnds: untilInputEnds,
            checks: [ReadinessCheck("console") { service.boundAddress == nil ? "not listening" : nil }]
        )
    }

    /// Offset of the console's probe port from the base port that workers use.
    private static let portOffset = 102
}
