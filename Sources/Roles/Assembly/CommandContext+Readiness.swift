package import BellhopRules
package import CLI
import Pipeline
package import Postgres
import ServiceRuntime
package import Settings
import Store

extension CommandContext {
    /// Ends the command with advice if the machine, the schema or the broker does not match this program.
    package func expectReady(_ catalogs: CatalogSet, zones: ZoneLibrary, pool: PostgresPool) async throws {
        try await expectSchema(zones: zones, pool: pool)
        let applier = TopologyApplier(broker: try broker(), plan: plan(catalogs), records: BindingStore(pool: pool))
        guard let first = try await applier.differences(comparingArguments: false).first else { return }
        throw Self.notReady("the broker's topology", first, "bellhop topology apply")
    }

    /// Does the same for a role that does not use the broker.
    package func expectSchema(zones: ZoneLibrary, pool: PostgresPool) async throws {
        guard zones.isThere else { throw zones.absence(attempted: "reading the time zones") }
        guard try await !pool.isLentAnew() else { throw Self.transactionsPooled(.databaseURL) }
        switch try await Migrator(pool: pool, namespace: configuration.namespace).check() {
        case .current, .ahead: break
        case .pending(let names):
            throw Self.notReady("the database schema", "pending: \(names.joined(separator: ", "))", "bellhop migrate")
        case .diverged(let why): throw Self.notReady("the database schema", why, "the matching release of bellhop")
        }
    }

    /// Reports, once and before any process starts, a fault that affects all processes and that no restart can correct.
    ///
    /// An unavailable server is not such a fault: the processes wait for it.
    package func expectNothingHopeless(_ catalogs: CatalogSet, as name: String, _ shell: CommandEnvironment)
        async throws
    {
        var options = try poolOptions(as: .worker, name: name, size: 1)
        options.waitsForServer = false
        let pool = PostgresPool(options)
        var fault: (any Error)?
        do {
            try await expectReady(catalogs, zones: ZoneLibrary(environment: shell.environment), pool: pool)
        } catch {
            fault = Failure(error).exitCode == .configuration ? error : nil
        }
        await pool.close()
        if let fault { throw fault }
    }

    /// The failure for a pooler in transaction mode.
    ///
    /// Roles set their rights and prepare their statements once per session.
    static func transactionsPooled(_ setting: Setting) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "connecting to the database",
            cameBack: "the connection uses a pooler in transaction mode",
            whatToDo: "let it pool sessions (PgBouncer: pool_mode = session), or let "
                + "\(setting.environmentName) lead to the server itself"
        )
    }

    private static func notReady(_ what: String, _ cameBack: String, _ command: String) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "checking \(what)",
            cameBack: cameBack,
            whatToDo: "run \(command) first"
        )
    }
}
