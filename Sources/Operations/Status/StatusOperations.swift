import AMQP
import BellhopRules
import Pipeline
import ServiceRuntime
import Settings
import Store

/// Reads broker and database.
///
/// A failure of one does not hide the other's values.
package struct StatusOperations: Sendable {
    private let context: OperationsContext
    private let pool: ConnectionPool
    private let broker: BrokerAddress
    /// `nil` if none are configured.
    ///
    /// Without catalogues, or with a fault in them, the bindings cannot be checked. A fault is stored and not thrown,
    /// because an operator who handles it needs the rest of the status.
    private let catalogs: Result<CatalogSet, any Error>?
    private let management: ManagementAPI?
    private let reader: Status.Reader

    /// The time limit for each statement.
    package static let patience = Duration.seconds(10)

    /// Reads the catalogues.
    ///
    /// Throws if no broker is configured, or if an address is invalid.
    package init(_ context: OperationsContext, for reader: Status.Reader = .shell) throws {
        self.context = context
        self.reader = reader
        pool = context.pool.with(statementTimeout: Self.patience)
        catalogs = context.configuration.catalogs.map { _ in Result { try context.catalogs() } }
        management = try context.configuration.managementURL.map { try ManagementAPI($0) }
        broker = try context.broker()
    }

    /// Returns the present status.
    package func status() async -> Status {
        async let queues = Observed.look(within: Self.brokersPatience) { try await lookAtQueues() }
        async let database = Observed.look { try await lookAtDatabase() }
        async let told = askManagement()
        async let outbox = lookAtOutbox()
        var (seenQueues, seenDatabase) = (await queues, await database)
        var managementObstacle: String?
        switch await told {
        case .success(let told): seenQueues = Self.completed(seenQueues, with: told)
        case .failure(let failure): managementObstacle = failure.description
        }
        let isSeen = seenQueues.value != nil && seenDatabase.value?.store != nil
        let seenOutbox = await outbox
        var status = Status(
            namespace: context.configuration.namespace,
            time: SystemTime().now(),
            broker: seenQueues,
            database: seenDatabase,
            topologyDifferences: isSeen ? await differences() : nil,
            catalogs: readable?.fingerprint,
            catalogObstacle: catalogObstacle,
            managementObstacle: managementObstacle
        )
        status.outbox = seenOutbox
        status.reader = reader
        return status
    }

    private var readable: CatalogSet? { try? catalogs?.get() }

    private var catalogObstacle: String? {
        guard case .failure(let error)? = catalogs else { return nil }
        return readingText(of: error)
    }

    /// The time limit for the broker's answer.
    ///
    /// It is shorter than its connections' timeout, which is that of a worker.
    private static let brokersPatience = Duration.seconds(6)

    private func lookAtQueues() async throws -> [QueueStatus] {
        let tiers = context.configuration.retryDelays.map(RetryTier.init)
        let all = QueueStatus.all(names: context.names, tiers: tiers)
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
        let schema = try await Migrator(pool: pool, namespace: context.configuration.namespace).check()
        // Older or newer schemas may lack columns that the statements need.
        let clock = try await DatabaseClock(pool: pool, time: SystemTime()).compare()
        guard schema.isAdmitted else { return Status.Database(schema: schema, store: nil, clock: clock) }
        return Status.Database(schema: schema, store: try await StoreStatus(of: pool), clock: clock)
    }

    /// Reads the outbox directly, so that its rows are known even if no relay runs.
    private func lookAtOutbox() async -> Observed<OutboxLag>? {
        guard let url = context.configuration.relayURL else { return nil }
        do throws(StoreError) {
            return .seen(try await OutboxLag(at: url, within: Self.patience))
        } catch {
            return .unseen(because: error.outboxAdvice.map { "\(error); \($0)" } ?? "\(error)")
        }
    }

    private func askManagement() async -> Result<[String: ManagementAPI.Queue], CommandFailure> {
        guard let management else { return .success([:]) }
        do throws(CommandFailure) {
            return .success(
                try await management.queues(of: context.configuration.namespace, virtualHost: broker.virtualHost)
            )
        } catch {
            return .failure(error)
        }
    }

    private static func completed(
        _ sight: Observed<[QueueStatus]>,
        with told: [String: ManagementAPI.Queue]
    ) -> Observed<[QueueStatus]> {
        guard case .seen(var queues) = sight else { return sight }
        for index in queues.indices {
            guard let more = told[queues[index].name] else { continue }
            queues[index].counts?.unacked = more.unacked
            queues[index].counts?.oldestSent = more.oldestSent
            queues[index].counts?.limit = more.limit
        }
        return .seen(queues)
    }

    private func differences() async -> [String]? {
        guard let catalogs = readable else { return nil }
        let tiers = context.configuration.retryDelays.map(RetryTier.init)
        let plan = TopologyPlan(names: context.names, catalogs: catalogs, tiers: tiers)
        let applier = TopologyApplier(broker: broker, plan: plan, records: BindingStore(pool: pool))
        return try? await applier.differences(comparingArguments: false)
    }
}
