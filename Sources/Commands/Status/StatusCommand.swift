import AMQP
import BellhopRules
import CLI
import Pipeline
import Postgres
import Roles
import ServiceRuntime
import Store

/// The command `bellhop status [--json]`.
enum StatusCommand: Command {
    static let name = "status"
    static let summary = "Shows problems first, then queues, backlogs, failures and processes."
    static let synopsis = ["status [--watch] [--json]"]
    static let options = [Option.watch, .json]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let setup = try call.setup(requiring: [.amqpURL, .databaseURL])
        let catalogs = setup.configuration.catalogs.map { _ in Result { try setup.catalogs() } }
        let management = try setup.configuration.managementURL.map { try ManagementAPI($0) }
        let broker = try setup.broker()
        let status = try await setup.withPool(as: .admin, name: name, patience: .seconds(10)) { pool in
            let look = Look(setup: setup, broker: broker, pool: pool, catalogs: catalogs, management: management)
            if call.words.has("watch") {
                try await call.watch(
                    { await look.look().lines(fitting: call.shell.output.width) },
                    emphasis: Status.emphasis
                )
            }
            return await look.look()
        }
        call.answer(status.json, lines: status.lines(fitting: call.shell.output.width), emphasis: Status.emphasis)
        return status.isWhole ? .done : .unavailable
    }
}

/// Reads broker and database.
///
/// A failure of one does not hide the other's values.
private struct Look: Sendable {
    let setup: CommandContext
    let broker: BrokerAddress
    let pool: PostgresPool
    /// `nil` if none are configured.
    ///
    /// Without catalogues, or with a fault in them, the bindings cannot be checked. A fault is stored and not thrown,
    /// because an operator who handles it needs the rest of the status.
    let catalogs: Result<CatalogSet, any Error>?
    let management: ManagementAPI?

    func look() async -> Status {
        async let queues = Self.sight(within: Self.patience) { try await lookAtQueues() }
        async let database = Self.sight { try await lookAtDatabase() }
        async let told = askManagement()
        var (seenQueues, seenDatabase) = (await queues, await database)
        var managementObstacle: String?
        switch await told {
        case .success(let told): seenQueues = Self.completed(seenQueues, with: told)
        case .failure(let failure): managementObstacle = failure.description
        }
        let isSeen = seenQueues.value != nil && seenDatabase.value?.store != nil
        return Status(
            namespace: setup.configuration.namespace,
            time: SystemTime().now(),
            broker: seenQueues,
            database: seenDatabase,
            topologyDifferences: isSeen ? await differences() : nil,
            catalogs: readable?.fingerprint,
            catalogObstacle: catalogObstacle,
            managementObstacle: managementObstacle
        )
    }

    private var readable: CatalogSet? { try? catalogs?.get() }

    private var catalogObstacle: String? {
        guard case .failure(let error)? = catalogs else { return nil }
        return Failure(error).text
    }

    private static func sight<Value>(
        _ look: @Sendable () async throws -> Value
    ) async -> Status.Observed<Value> {
        do {
            return .seen(try await look())
        } catch {
            return .unseen(because: Failure(error).text)
        }
    }

    /// The time limit for the broker's answer.
    ///
    /// It is shorter than its connections' timeout, which is that of a worker.
    private static let patience = Duration.seconds(6)

    /// Limits a read that cannot be cancelled.
    ///
    /// After the limit the caller gets a result, and the read ends later.
    private static func sight<Value: Sendable>(
        within limit: Duration,
        _ look: @escaping @Sendable () async throws -> Value
    ) async -> Status.Observed<Value> {
        let (sights, found) = AsyncStream<Status.Observed<Value>>.makeStream()
        Task { _ = found.yield(await sight(look)) }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            let words = "it has answered nothing for \(limit.components.seconds) s; see docs/runbooks/broker.md"
            found.yield(.unseen(because: words))
        }
        defer { timer.cancel() }
        for await sight in sights { return sight }
        return .unseen(because: "the caller no longer waits")
    }

    private func lookAtQueues() async throws -> [QueueStatus] {
        let tiers = setup.configuration.retryDelays.map(RetryTier.init)
        let all = QueueStatus.all(names: setup.names, tiers: tiers)
        return try await BrokerSession.with(broker, name: "bellhop status") { session in
            try all.map { queue in
                var queue = queue
                queue.counts = try session.checkQueue(queue.name).map {
                    QueueStatus.Counts(ready: $0.messages, consumers: $0.consumers)
                }
                return queue
            }
        }
    }

    private func lookAtDatabase() async throws -> Status.Database {
        let schema = try await Migrator(pool: pool, namespace: setup.configuration.namespace).check()
        // Older or newer schemas may lack columns that the statements need.
        let clock = try await DatabaseClock(pool: pool, time: SystemTime()).compare()
        guard schema.isAdmitted else { return Status.Database(schema: schema, store: nil, clock: clock) }
        return Status.Database(schema: schema, store: try await StoreStatus(of: pool), clock: clock)
    }

    private func askManagement() async -> Result<[String: ManagementAPI.Queue], CommandFailure> {
        guard let management else { return .success([:]) }
        do throws(CommandFailure) {
            return .success(
                try await management.queues(of: setup.configuration.namespace, virtualHost: broker.virtualHost)
            )
        } catch {
            return .failure(error)
        }
    }

    private static func completed(
        _ sight: Status.Observed<[QueueStatus]>,
        with told: [String: ManagementAPI.Queue]
    ) -> Status.Observed<[QueueStatus]> {
        guard case .seen(var queues) = sight else { return sight }
        for index in queues.indices {
            guard let more = told[queues[index].name] else { continue }
            queues[index].counts?.unacked = more.unacked
            queues[index].counts?.oldestSent = more.oldestSent
        }
        return .seen(queues)
    }

    private func differences() async -> [String]? {
        guard let plan = readable.map(setup.plan) else { return nil }
        let applier = TopologyApplier(broker: broker, plan: plan, records: BindingStore(pool: pool))
        return try? await applier.differences(comparingArguments: false)
    }
}
