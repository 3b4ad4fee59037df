import AMQP
import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop status [--json]`.
struct StatusCommand: Command {
    static let name = "status"
    static let summary = "Shows what waits, what failed and who works on it; what is wrong comes first."
    static let synopsis = ["status [--json]"]
    static let options = [Option.json]

    private let words: Words

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.amqpURL, .databaseURL])
        let look = try Look(configuration)
        let standing = await look.look()
        await look.close()
        surroundings.print(words.has("json") ? standing.json.description : standing.text)
        return standing.isWhole ? .done : .unavailable
    }
}

/// Looks at broker and database; what one of them refuses does not hide what the other tells.
private struct Look: Sendable {
    private let footing: Footing
    private let broker: BrokerAddress
    private let pool: PostgresPool
    /// Nil where no catalogues are configured, so that nothing can be said of the bindings.
    private let plan: TopologyPlan?
    private let management: ManagementAPI?

    init(_ configuration: BellhopConfiguration) throws {
        footing = Footing(configuration: configuration)
        broker = try footing.broker()
        plan = configuration.catalogs == nil ? nil : footing.plan(try footing.catalogs())
        management = try configuration.managementURL.map { try ManagementAPI($0) }
        pool = try footing.pool(as: .admin, name: StatusCommand.name, size: 1, patience: .seconds(10))
    }

    func close() async {
        await pool.close()
    }

    func look() async -> Standing {
        async let queues = Self.sight { try await lookAtQueues() }
        async let database = Self.sight { try await lookAtDatabase() }
        async let told = askManagement()
        var (seenQueues, seenDatabase) = (await queues, await database)
        var managementObstacle: String?
        switch await told {
        case .success(let told): seenQueues = Self.completed(seenQueues, with: told)
        case .failure(let failure): managementObstacle = failure.description
        }
        let isGround = seenQueues.value != nil && seenDatabase.value?.store != nil
        return Standing(
            namespace: footing.configuration.namespace,
            time: SystemTime().now(),
            broker: seenQueues,
            database: seenDatabase,
            topologyDifferences: isGround ? await differences() : nil,
            managementObstacle: managementObstacle
        )
    }

    private static func sight<Value>(
        _ look: @Sendable () async throws -> Value
    ) async -> Standing.Sight<Value> {
        do {
            return .seen(try await look())
        } catch {
            return .unseen(because: Failure(error).text)
        }
    }

    private func lookAtQueues() async throws -> [QueueStanding] {
        let tiers = footing.configuration.retryDelays.map(RetryTier.init)
        let all = QueueStanding.all(names: footing.names, tiers: tiers)
        return try await BrokerSession.with(broker, name: "bellhop status") { session in
            try all.map { queue in
                var queue = queue
                queue.counts = try session.checkQueue(queue.name).map {
                    QueueStanding.Counts(ready: $0.messages, consumers: $0.consumers)
                }
                return queue
            }
        }
    }

    private func lookAtDatabase() async throws -> Standing.Database {
        let schema = try await Migrator(pool: pool, namespace: footing.configuration.namespace).check()
        // Older or newer tables may lack what the statements ask for.
        guard schema == .current else { return Standing.Database(schema: schema, store: nil) }
        return Standing.Database(schema: schema, store: try await StoreStanding(of: pool))
    }

    private func askManagement() async -> Result<[String: ManagementAPI.Queue], CommandFailure> {
        guard let management else { return .success([:]) }
        do throws(CommandFailure) {
            return .success(
                try await management.queues(of: footing.configuration.namespace, virtualHost: broker.virtualHost)
            )
        } catch {
            return .failure(error)
        }
    }

    private static func completed(
        _ sight: Standing.Sight<[QueueStanding]>,
        with told: [String: ManagementAPI.Queue]
    ) -> Standing.Sight<[QueueStanding]> {
        guard case .seen(var queues) = sight else { return sight }
        for index in queues.indices {
            guard let more = told[queues[index].name] else { continue }
            queues[index].counts?.unacked = more.unacked
            queues[index].counts?.oldestSent = more.oldestSent
        }
        return .seen(queues)
    }

    private func differences() async -> [String]? {
        guard let plan else { return nil }
        let applier = TopologyApplier(broker: broker, plan: plan, records: BindingRecords(pool: pool))
        return try? await applier.differences(comparingArguments: false)
    }
}
