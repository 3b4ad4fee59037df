import Foundation
import AMQP
import BellhopRules
import HTTPServer
import Pipeline
import Postgres
import Push
import ServiceRuntime
import Settings
import Store
import Tracing

/// The parts that every long-running role has: a log, metrics, a connection pool, an endpoint for probes, and an
/// orderly end.
struct RoleProcess: Sendable {
    let setup: CommandContext
    private let role: String
    let logger: Logger
    let metrics: MetricsRegistry
    let pool: PostgresPool
    private let databaseHealth: DatabaseHealth
    let time = SystemTime()
    /// The comparison of this host's clock with the database's.
    let clocks: ClockWatch
    /// Shared by all connections to the broker, so that one that reconnects wakes the others.
    let presence = BrokerAvailability()
    private let brokerLog: BrokerConnectionLog
    /// From here on a SIGHUP no longer ends the process.
    private let hangups = ProcessSignal.arrivals(of: [.hangup])
    let zones = ZoneLibrary(environment: ProcessInfo.processInfo.environment)
    /// The process's identity among all processes.
    let identity: Heartbeat.Identity
    /// The exporter of spans, or `nil` if tracing is not configured.
    let tracer: Tracer?
    private let spans: SpanExporter?

    /// Creates the parts of a role.
    ///
    /// `size` limits the connections to the database. `number` is the process's number among several, and every log
    /// line contains it. `foreign` is a pool of another database than Bellhop's.
    init(
        _ setup: CommandContext,
        role: String,
        rights: DatabaseRole = .worker,
        connections size: Int,
        patience: Duration = .seconds(30),
        number: Int? = nil,
        foreign: PoolOptions? = nil
    ) throws {
        self.setup = setup
        self.role = role
        let log = setup.configuration.log.makeLogger(label: role)
        logger = number.map { log.with(["worker": .integer($0)]) } ?? log
        brokerLog = BrokerConnectionLog(logger: logger)
        metrics = MetricsRegistry()
        ProcessMetrics.register(in: metrics)
        var options = try foreign ?? setup.poolOptions(as: rights, name: role, size: size)
        options.statementTimeout = patience
        let health = DatabaseHealth(logger.labelled("database"), time: SystemTime(), metrics: metrics)
        databaseHealth = health
        options.observer = health.see
        pool = PostgresPool(options)
        clocks = ClockWatch(pool: pool, time: time, logger: logger, metrics: metrics)
        var identity = Heartbeat.Identity(
            id: String(UInt64.random(in: .min ... .max), radix: 36),
            role: role,
            version: BuildInfo.version,
            host: ProcessInfo.processInfo.hostName,
            process: Int(ProcessInfo.processInfo.processIdentifier)
        )
        identity.messages = MessageVersion.newest
        let start = SupervisedStart(setup.environment)
        start?.begin()
        identity.predecessor = start.flatMap(Heartbeat.Predecessor.init)
        metrics.callback(
            "bellhop_hung_processes_total",
            .counter,
            help: "Hung processes that the supervisor has replaced in this process's place.",
            labels: []
        ) { [([], Double(start?.hung ?? 0))] }
        self.identity = identity
        let tracing = try TracingSettings.read(setup.environment)
        let (metrics, logger) = (metrics, logger)
        tracer = tracing.map { Tracer($0, registry: metrics) }
        let process = Tracer.Process(
            role: role,
            namespace: setup.configuration.namespace.name,
            version: identity.version,
            instance: identity.id
        )
        spans = try tracing.flatMap { [tracer] in try tracer?.exporter($0, of: process, logger: logger) }
    }

    /// Ends the command with advice if the machine, the schema or the broker does not match this program.
    func expectReady(_ catalogs: CatalogSet) async throws {
        try await setup.expectReady(catalogs, zones: zones, pool: pool)
        try await warnOfLocks()
    }

    /// Logs a warning if the server's lock table is too small.
    ///
    /// It would fail only under load, and then for every statement.
    func warnOfLocks() async throws {
        let locks = try await Migrator(pool: pool, namespace: setup.configuration.namespace).lockTable()
        guard let needed = locks.lacking else { return }
        logger.warning(
            "the server's lock table may become too small under load",
            [
                "partitions": .integer(locks.partitions), "max_locks_per_transaction": .integer(locks.entries),
                "whatToDo": .text("set max_locks_per_transaction to at least \(needed) and restart the server"),
            ]
        )
    }

    /// Makes the senders that the providers' file configures.
    ///
    /// Without a file nothing can be pushed, which the log reports once.
    func pushSenders() throws -> PushSenders {
        let context = PushSenders.Context(time: time, logger: logger, metrics: PushMetrics(metrics))
        guard let file = setup.configuration.providers else {
            logger.notice(
                "no providers are configured: notifications are recorded and not pushed",
                ["setting": .text(Setting.providers.environmentName)]
            )
            return try PushSenders(.none, context: context)
        }
        return try PushSenders(try ProviderConfiguration.read(file: file), context: context)
    }

    /// Reloads the catalogues at each SIGHUP, and exposes the fingerprint of the active ones as a metric.
    func reload(of source: CatalogSource) -> CatalogReload {
        metrics.callback(
            "bellhop_build_info",
            .gauge,
            help: "Build and catalogue version; always 1.",
            labels: ["version", "catalogs"]
        ) { [([BuildInfo.version, source.current.fingerprint], 1)] }
        return CatalogReload(
            source: source,
            read: { [setup] in try setup.catalogs() },
            bindings: BindingStore(pool: pool),
            plan: { [setup] catalogs in setup.plan(catalogs) },
            logger: logger,
            metrics: metrics,
            signals: hangups
        )
    }

    /// Makes the heartbeat that tells schedulers that this process is alive and may hold claims.
    func claimantHeartbeat() async throws -> ClaimantHeartbeat {
        guard let url = setup.configuration.listenURL else { throw CommandContext.missing(.listenURL) }
        var options = ListenerOptions(url: try DatabaseURL(url.revealed), channels: [])
        options.applicationName = "bellhop \(role), claiming"
        options.setUp = setup.configuration.namespace.setUp(as: .worker)
        let book = ClaimantBook(pool: pool)
        let session = try await ClaimantSession(registeredIn: book, options: options)
        return ClaimantHeartbeat(book: book, session: session, logger: logger)
    }

    /// Makes the notifier that announces inbox changes to open pages.
    func herald() -> InboxChangeNotifier {
        InboxChangeNotifier(
            book: ListenerStore(pool: pool, namespace: setup.configuration.namespace),
            logger: logger.labelled("live"),
            metrics: metrics
        )
    }

    /// Starts and returns the role's publisher.
    func startPublisher() throws -> MeteredPublisher {
        let publisher = Publisher(
            PublisherOptions(
                broker: try setup.broker(),
                name: "bellhop \(role), publishing",
                presence: presence,
                observer: observe("publisher")
            )
        )
        publisher.start()
        return MeteredPublisher(publisher, metrics)
    }

    /// Makes the publisher of a role that publishes events for others and can report to them that the broker is unavailable.
    func eventPublisher() throws -> Publisher {
        Publisher(
            PublisherOptions(
                broker: try setup.broker(),
                name: "bellhop \(role), publishing",
                window: 4_000,
                // Twice this time is still shorter than the time after which most callers give up.
                timeout: .seconds(10),
                presence: presence,
                observer: observe("publisher")
            )
        )
    }

    /// Returns a factory of consumers, each with a separate connection and not yet started.
    ///
    /// `label` names them in the log.
    func consumer(
        _ name: String,
        _ subscriptions: [ConsumerOptions.Subscription],
        label: String? = nil
    ) throws -> @Sendable () -> Consumer {
        let options = ConsumerOptions(
            broker: try setup.broker(),
            name: "bellhop \(role), \(name)",
            subscriptions: subscriptions,
            presence: presence,
            observer: observe(label ?? name)
        )
        return { Consumer(options) }
    }

    /// Returns the readiness checks that every role has.
    func checks(_ publisher: MeteredPublisher) -> [ReadinessCheck] {
        [
            databaseCheck, ReadinessCheck("publisher") { publisher.obstacle }, clockCheck,
        ]
    }

    /// Returns the problem of a lane; `nil` if there is none.
    ///
    /// Without the database a lane's canary cannot return, so the problem names the database as the cause.
    func problem(of worker: LaneWorker) -> String? {
        worker.whatIsWrong.map(databaseHealth.explain)
    }

    /// Fails until the database's clock is known, and while it differs from this host's.
    var clockCheck: ReadinessCheck {
        ReadinessCheck("clock") { [clocks] in clocks.whatIsWrong }
    }

    var databaseCheck: ReadinessCheck {
        // Longer than the ping itself, so that a refused connection is not reported as a check without an answer.
        ReadinessCheck("database", timeout: .seconds(5)) { [pool] in await pool.ping() ? nil : "it does not answer" }
    }

    /// Runs the services and the endpoint until a signal, and closes the pool after them.
    ///
    /// With `untilInputEnds`, the end of stdin counts as a signal, since it means that the parent process has exited.
    func run(
        _ services: [any Service],
        listen: ListenAddress,
        untilInputEnds: Bool = false,
        checks: [ReadinessCheck]
    ) async -> ExitCode {
        let endpoint = OperationsEndpoint(
            listen: listen,
            from: Setting.metricsListen.environmentName,
            registry: metrics,
            checks: checks,
            logger: logger
        )
        var all = services
        if let spans { all.append(spans) }
        all.append(endpoint)
        let group = ServiceGroup(
            all,
            drainTimeout: setup.configuration.drainTimeout,
            logger: logger
        )
        let running = Task { await group.run() }
        if untilInputEnds {
            ParentExitMonitor.whenInputEnds { [logger] in
                logger.warning("stdin closed, the parent process has exited")
                running.cancel()
            }
        }
        let ending = await running.value
        // In reverse order: the process's registration ends last, because other services still write during their last
        // step and an unregistered process must not write.
        for case let service as any FinalizingService in all.reversed() {
            await service.sayLastWords(leavingNothing: ending.isComplete)
        }
        await pool.close()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    /// Returns the observer of a connection to the broker, which logs its changes of state.
    func observe(_ connection: String) -> @Sendable (ConnectionEvent) -> Void { brokerLog.observer(of: connection) }
}

extension Heartbeat.Predecessor {
    /// Reads a supervisor's message; `nil` for the first process in its place.
    fileprivate init?(_ start: SupervisedStart) {
        guard let process = start.predecessors.first else { return nil }
        let hungUntil = start.hungUntil.map { Timestamp(clamping: Instant(seconds: $0).microseconds) }
        self.init(process: Int(process), hungUntil: hungUntil)
        earlier = start.predecessors.dropFirst().map(Int.init)
    }
}
