import AMQP
import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop status [--json]`.
enum StatusCommand: Command {
    static let name = "status"
    static let summary = "Shows what waits, what failed and who works on it; what is wrong comes first."
    static let synopsis = ["status [--json]"]
    static let options = [Option.json]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let footing = try call.footing(requiring: [.amqpURL, .databaseURL])
        let plan = footing.configuration.catalogs == nil ? nil : footing.plan(try footing.catalogs())
        let management = try footing.configuration.managementURL.map { try ManagementAPI($0) }
        let broker = try footing.broker()
        let standing = try await footing.withPool(as: .admin, name: name, patience: .seconds(10)) { pool in
            await Look(footing: footing, broker: broker, pool: pool, plan: plan, management: management).look()
        }
        call.answer(standing.json, standing.text)
        return standing.isWhole ? .done : .unavailable
    }
}

/// Looks at broker and database; what one of them refuses does not hide what the other tells.
private struct Look: Sendable {
    let footing: Footing
    let broker: BrokerAddress
    let pool: PostgresPool
    /// Nil where no catalogues are configured, so that nothing can be said of the bindings.
    let plan: TopologyPlan?
    let management: ManagementAPI?

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
