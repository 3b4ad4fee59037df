package import AMQP
package import BellhopRules
import Foundation
package import Pipeline
package import Postgres
package import ServiceRuntime
package import Settings
package import Store

/// The base of commands, made from a validated configuration.
///
/// Its faults name the setting.
package struct CommandContext: Sendable {
    package let configuration: BellhopConfiguration
    /// The environment, including variables that are not settings of Bellhop.
    package var environment: [String: String] = [:]

    package init(configuration: BellhopConfiguration, environment: [String: String] = [:]) {
        self.configuration = configuration
        self.environment = environment
    }

    /// Makes a pool with the rights of a role.
    ///
    /// `nil` keeps the log-in's own rights, those of the schema's owner.
    ///
    /// A pool with the operators' rights serves a person at a terminal, so it fails immediately if the server rejects
    /// the connection, and within seconds if the server does not answer.
    package func pool(
        as rights: DatabaseRole?,
        name: String,
        size: Int,
        patience: Duration = .seconds(30),
        observer: @escaping @Sendable (PoolEvent) -> Void = { _ in }
    ) throws -> PostgresPool {
        var options = try poolOptions(as: rights, name: name, size: size)
        options.statementTimeout = patience
        options.observer = observer
        return PostgresPool(options)
    }

    /// Runs a body with a pool and closes the pool afterwards.
    package func withPool<Value: Sendable>(
        as rights: DatabaseRole?,
        name: String,
        size: Int = 1,
        patience: Duration = .seconds(30),
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        let pool = try pool(as: rights, name: name, size: size, patience: patience)
        let result: Result<Value, any Error>
        do { result = .success(try await body(pool)) } catch { result = .failure(error) }
        await pool.close()
        return try result.get()
    }

    /// Runs a body with a pool that has the operators' rights.
    ///
    /// If the database is unavailable, the failure names the attempted command.
    package func withOperatorPool<Value: Sendable>(
        _ attempted: String,
        isAct: Bool,
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        try await reaching(
            for: attempted,
            isAct: isAct,
            whatToDo: "bring the database back (docs/runbooks/database.md), and look again"
        ) {
            try await withPool(as: .admin, name: attempted, patience: .seconds(120)) { pool in
                try await body(pool.forOneOperation())
            }
        }
    }

    /// Returns the options that such a pool starts with.
    package func poolOptions(as rights: DatabaseRole?, name: String, size: Int) throws -> PoolOptions {
        guard let url = configuration.databaseURL else { throw Self.missing(.databaseURL) }
        var options = PoolOptions(url: try DatabaseURL(url.revealed))
        options.size = 1...size
        options.applicationName = "bellhop \(name)"
        options.setUp = rights.map(configuration.namespace.setUp) ?? ["SET search_path TO \(configuration.namespace)"]
        options.waitsForServer = rights != .admin
        options.silence = rights == .admin ? .seconds(2) : nil
        return options
    }

    package func broker() throws -> BrokerAddress { try configuration.broker() }

    package var names: TopologyNames { TopologyNames(configuration.namespace) }

    package func plan(_ catalogs: CatalogSet) -> TopologyPlan {
        TopologyPlan(names: names, catalogs: catalogs, tiers: configuration.retryDelays.map(RetryTier.init))
    }

    package var policy: DeliveryPolicy {
        DeliveryPolicy(
            ladder: RetryLadder(
                tiers: configuration.retryDelays.map(RetryTier.init),
                limit: configuration.retryLimit
            ),
            lease: configuration.lease
        )
    }

    /// Reads every `*.json5` of the folder.
    package func catalogs() throws -> CatalogSet { try configuration.readCatalogs() }

    package static func missing(_ setting: Setting) -> CommandFailure { .missing(setting) }
}
