import API
import BellhopRules
import HTTPServer
import Pipeline
import Push
import ServiceRuntime
import Store

/// The command `bellhop api`.
enum APICommand: Command {
    static let name = "api"
    static let summary = "Serves the inbox API to signed-in users; any number may run side by side."
    static let isRole = true
    static let synopsis = ["api"]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setup(requiring: [.databaseURL, .catalogs, .jwtKeys])
        // One that is opened before the key set is read for the first time, so that no signal comes too early.
        let hangups = ProcessSignal.arrivals(of: [.hangup])
        let process = try RoleProcess(setup, role: name, rights: .api, connections: 16)
        let catalogs = try setup.catalogs()
        let secrets = try setup.configuration.providers.map { try ProviderConfiguration.read(file: $0) }
        let keys = try setup.tokenKeys(signals: hangups, process)
        try await setup.expectSchema(zones: process.zones, pool: process.pool)
        return await serve(process, CatalogSource(catalogs), keys, secrets.map(Tools.AppSecrets.init) ?? .init())
    }

    private static func serve(
        _ process: RoleProcess,
        _ catalogs: CatalogSource,
        _ keys: TokenKeySource,
        _ secrets: Tools.AppSecrets
    ) async -> ExitCode {
        let configuration = process.setup.configuration
        let tools = Tools(
            desk: ReaderDesk(pool: process.pool),
            catalogs: catalogs,
            zones: process.zones,
            time: process.time,
            secrets: secrets,
            metrics: process.metrics
        )
        let admission = InboxAPI.Admission(
            verifier: TokenVerifier(audience: configuration.jwtAudience, issuer: configuration.jwtIssuer),
            keys: { keys.current },
            origins: configuration.apiOrigins,
            rates: configuration.apiRate
        )
        let api = InboxAPI(tools: tools, admission: admission, logger: process.logger, metrics: process.metrics)
        let service = HTTPService(
            name: "inbox API",
            at: HTTPService.Place(configuration.apiListen, from: .apiListen),
            limits: InboxAPI.limits,
            logger: process.logger,
            handler: api.respond(to:)
        )
        return await process.run(
            [service, keys, process.reload(of: catalogs)],
            listen: configuration.metricsListen.shifted(by: portOffset) ?? configuration.metricsListen,
            checks: [
                ReadinessCheck("inbox API") { service.boundAddress == nil ? "it does not listen" : nil },
                process.databaseCheck,
            ]
        )
    }

    /// Where the API's endpoint for probes stands above the base that workers use.
    private static let portOffset = 101
}

extension Setup {
    /// The key set, and whoever follows its file.
    fileprivate func tokenKeys(
        signals: AsyncStream<ProcessSignal>,
        _ process: RoleProcess
    ) throws -> TokenKeySource {
        guard let file = configuration.jwtKeys else { throw Self.missing(.jwtKeys) }
        return try TokenKeySource(file: file, signals: signals, logger: process.logger, metrics: process.metrics)
    }
}
