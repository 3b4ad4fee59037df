import AMQP
import API
import BellhopRules
package import CLI
import HTTPServer
import Pipeline
import Postgres
import Publishing
import Push
package import ServiceRuntime
import Settings
import Store

/// The command `bellhop api`.
package enum APICommand: Command {
    package static let name = "api"
    package static let summary = "Serves the inbox API; any number may run concurrently."
    package static let isRole = true
    package static let synopsis = ["api [--until-stdin-ends]"]
    package static let options = [Option.untilStdinEnds]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setupWithSignIn(requiring: [.databaseURL, .catalogs])
        // Opened before the key set is read for the first time, so that no signal arrives before its handler.
        let hangups = ProcessSignal.arrivals(of: [.hangup])
        let process = try RoleProcess(setup, role: name, rights: .api, connections: 16)
        let catalogs = try setup.catalogs()
        let secrets = try setup.configuration.providers.map { try ProviderConfiguration.readForClients(file: $0) }
        let keys = try KeySetProvider(
            SignInConfiguration(setup.configuration),
            signals: hangups,
            logger: process.logger,
            metrics: process.metrics
        )
        try await setup.expectSchema(zones: process.zones, pool: process.pool)
        try await process.warnOfLocks()
        return try await serve(
            process,
            CatalogSource(catalogs),
            keys,
            secrets.map(APIContext.AppSecrets.init) ?? .init(),
            untilInputEnds: call.words.has(Option.untilStdinEnds.name)
        )
    }

    private static func serve(
        _ process: RoleProcess,
        _ catalogs: CatalogSource,
        _ keys: KeySetProvider,
        _ secrets: APIContext.AppSecrets,
        untilInputEnds: Bool
    ) async throws -> ExitCode {
        let configuration = process.setup.configuration
        let publishing = try process.publishing()
        let herald = process.herald()
        let users = UserStore(pool: process.pool)
        let hub = try process.liveHub(users, catalogs, keys, herald)
        var tools = APIContext(
            users: users,
            catalogs: catalogs,
            zones: process.zones,
            time: process.time,
            secrets: secrets,
            live: hub,
            metrics: process.metrics
        )
        tools.tracer = process.tracer
        tools.publishing = publishing?.access
        let admission = InboxAPI.AccessPolicy(
            issuers: { keys.current },
            noteUnknownKey: keys.noteUnknownKey(of:),
            origins: configuration.apiOrigins,
            rates: configuration.apiRate,
            proxies: configuration.apiProxies
        )
        let api = InboxAPI(tools: tools, admission: admission, logger: process.logger, metrics: process.metrics)
        let service = HTTPService(
            name: "inbox API",
            at: HTTPService.Place(configuration.apiListen, from: Setting.apiListen.environmentName),
            limits: limits(configuration),
            // Calls of publishers wait for the broker's confirms.
            grace: publishing == nil ? .seconds(5) : max(.seconds(1), configuration.drainTimeout - .seconds(2)),
            logger: process.logger,
            admission: api.admit,
            handler: api.respond(to:)
        )
        publishing?.publisher.start()
        let code = await process.run(
            [service, hub, keys, process.reload(of: catalogs), herald, ClockDuty(process.clocks)],
            listen: configuration.metricsListen.shifted(by: portOffset) ?? configuration.metricsListen,
            untilInputEnds: untilInputEnds,
            checks: [
                ReadinessCheck("inbox API") { service.boundAddress == nil ? "not listening" : nil },
                process.databaseCheck, process.clockCheck,
            ]
        )
        await publishing?.publisher.close()
        return code
    }

    private static func limits(_ configuration: BellhopConfiguration) -> HTTPLimits {
        var limits = InboxAPI.limits
        limits.connections = configuration.apiConnections.total
        limits.connectionsPerAddress = configuration.apiConnections.address
        limits.manyFrom = configuration.apiProxies
        // Each stream uses a file descriptor, and the process's default limit is low.
        OpenFiles.raiseLimit()
        return limits
    }

    /// Offset of the API's probe port from the base port that workers use.
    private static let portOffset = 101
}

/// The parts that bring publishers' events to the broker.
private struct PublishingWay {
    let access: PublishingAccess
    let publisher: Publisher
}

extension RoleProcess {
    /// Makes the way for publishers; `nil` if none are configured, so that the process needs no broker.
    fileprivate func publishing() throws -> PublishingWay? {
        guard let file = setup.configuration.publishers else { return nil }
        let directory = try WatchedDocument<PublisherFile>(file: file, time: time, logger: logger)
        let publisher = try eventPublisher()
        let events = EventPublisher(
            to: setup.names.events,
            obstacle: { publisher.obstacle },
            publish: { await publisher.publish($0) }
        )
        return PublishingWay(
            access: PublishingAccess(publishers: { directory.current }, events: events),
            publisher: publisher
        )
    }

    /// Makes the hub of open streams, which receives change notifications on its own database connection.
    fileprivate func liveHub(
        _ users: UserStore,
        _ catalogs: CatalogSource,
        _ keys: KeySetProvider,
        _ herald: InboxChangeNotifier
    ) throws -> LiveHub {
        guard let url = setup.configuration.listenURL else { throw CommandContext.missing(.listenURL) }
        var listener = ListenerOptions(url: try DatabaseURL(url.revealed), channels: [])
        listener.applicationName = "bellhop api, listening"
        listener.setUp = setup.configuration.namespace.setUp(as: .api)
        let here = LiveHub.Context(
            users: users,
            book: ListenerStore(pool: pool, namespace: setup.configuration.namespace),
            catalogs: catalogs,
            issuers: { keys.current },
            herald: herald,
            time: time,
            logger: logger.labelled("live")
        )
        let limits = LiveLimits(connections: setup.configuration.apiConnections.total)
        return LiveHub(here, listener: listener, limits: limits, metrics: metrics)
    }
}
