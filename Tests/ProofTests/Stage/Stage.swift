import AMQP
import Foundation
import Glibc
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import Settings
import Synchronization
import TestSupport

/// Real processes in a separate namespace, set up with the program's own commands.
///
/// Thread safety: the list of children is behind a lock.
final class Stage: Sendable {
    let servers: ServerAddresses
    let namespace: Namespace
    /// A pool with the rights of the schema's owner, to count the results.
    let owner: PostgresPool
    let folder: URL
    private let catalogs: URL
    private let children = Mutex<[ProgramRun]>([])

    private init(_ servers: ServerAddresses, _ catalogs: URL) throws {
        self.servers = servers
        self.catalogs = catalogs
        guard let namespace = Namespace(Servers.uniqueName("p").replacingOccurrences(of: "-", with: "_")) else {
            throw ProofFailure("the unique name makes no namespace")
        }
        self.namespace = namespace
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-proof-\(namespace)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var options = PoolOptions(url: try DatabaseURL(servers.database))
        options.size = 0...2
        options.setUp = ["SET search_path TO \(namespace)"]
        owner = PostgresPool(options)
    }

    /// Runs a body on a new stage and clears the stage afterwards: every process has ended, and the servers are clean.
    static func with(
        _ servers: ServerAddresses? = nil,
        catalogs: URL = Program.catalogs,
        _ body: (Stage) async throws -> Void
    ) async throws {
        let stage = try Stage(try servers ?? ServerAddresses.shared, catalogs)
        let result: Result<Void, any Error>
        do {
            try await stage.bellhop("migrate")
            try await stage.bellhop("topology", "apply")
            result = .success(try await body(stage))
        } catch {
            result = .failure(error)
        }
        for child in stage.children.withLock({ $0 }) { await child.end() }
        await stage.clear()
        try result.get()
    }

    private func clear() async {
        let names = self.names
        if let broker = try? broker, let plan = try? plan {
            try? await BrokerSession.with(broker, name: "proof, clearing up \(names.events)") { session in
                for queue in plan.queues { try session.deleteQueue(queue.name) }
                for exchange in plan.exchanges { try session.deleteExchange(exchange.name) }
            }
        }
        _ = try? await owner.run("SET client_min_messages TO warning")
        _ = try? await owner.run(Statement("DROP SCHEMA \(namespace) CASCADE"))
        await owner.close()
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: - Names

    var names: TopologyNames { TopologyNames(namespace) }

    var broker: BrokerAddress {
        get throws { try BrokerAddress(validating: servers.amqp) }
    }

    private var plan: TopologyPlan {
        get throws { TopologyPlan(names: names, catalogs: try ServerFixture.shipped(), tiers: ServerFixture.tiers) }
    }

    var queues: [String] {
        get throws { try plan.queues.map(\.name) }
    }

    // MARK: - Processes

    func environment(_ changes: [String: String] = [:]) -> [String: String] {
        let ours = [
            "BELLHOP_AMQP_URL": servers.amqp,
            "BELLHOP_DATABASE_URL": servers.database,
            "BELLHOP_NAMESPACE": namespace.name,
            "BELLHOP_CATALOGS": catalogs.path,
            "BELLHOP_RETRY_DELAYS": ServerFixture.tiers.map(\.name).joined(separator: ","),
            "BELLHOP_METRICS_LISTEN": "127.0.0.1:0",
        ]
        return Program.environment.merging(ours) { $1 }.merging(changes) { $1 }
    }

    /// Runs a command of the program to its end and requires success.
    @discardableResult
    func bellhop(_ arguments: String...) async throws -> String {
        try await run(Program.bellhop, arguments)
    }

    /// Runs any program to its end and requires success.
    @discardableResult
    func run(_ program: URL, _ arguments: [String]) async throws -> String {
        let child = try start(program, arguments, environment())
        let ending = try await child.ending()
        guard ending == .exited(0) else { throw ProofFailure("\(child.name): \(ending)\n\(child.log)") }
        return child.log
    }

    /// Starts a worker and waits until it consumes.
    func worker(_ changes: [String: String] = [:]) async throws -> Role {
        try await role(["worker"], changes)
    }

    /// Starts a pool and waits until at least one worker consumes.
    ///
    /// That worker answers the probes of the pool.
    func pool(of workers: Int, _ changes: [String: String] = [:]) async throws -> Role {
        try await role(["pool", "--workers", String(workers)], changes)
    }

    /// Starts a scheduler and waits until it consumes dead letters.
    func scheduler(_ changes: [String: String] = [:]) async throws -> Role {
        try await role(["scheduler"], changes)
    }

    /// Starts a relay and waits until it moves rows.
    func relay(_ changes: [String: String] = [:]) async throws -> Role {
        try await role(["relay"], changes)
    }

    /// Starts a process of any role and waits until it is ready.
    func role(_ words: [String], _ changes: [String: String]) async throws -> Role {
        let child = try start(Program.bellhop, words, environment(changes))
        try await child.waitForLog("operations endpoint")
        let role = try Role(child)
        try await eventually("\(child.name) is ready; its log:\n\(child.log)") {
            guard child.isRunning else { throw ProofFailure("\(child.name) ended:\n\(child.log)") }
            return try await role.readiness().status == 200
        }
        return role
    }

    func start(_ program: URL, _ arguments: [String], _ environment: [String: String]) throws -> ProgramRun {
        let child = try ProgramRun(
            program,
            arguments,
            environment: environment,
            named: program == Program.bellhop ? "bellhop-\(arguments.first ?? "")" : program.lastPathComponent,
            logs: folder
        )
        children.withLock { $0.append(child) }
        return child
    }
}

/// The URLs of a broker and a database.
struct ServerAddresses: Sendable {
    let amqp: String
    let database: String

    static var shared: ServerAddresses {
        get throws {
            guard let amqp = Servers.amqpURL, let database = Servers.databaseURL else {
                throw ProofFailure("BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL are not set")
            }
            return ServerAddresses(amqp: amqp, database: database)
        }
    }

    /// Returns a proxy in front of the database.
    func databaseProxy() throws -> TCPProxy {
        guard let parts = URLComponents(string: database), let host = parts.host else {
            throw ProofFailure("the database's URL names no host")
        }
        return try TCPProxy(to: host, parts.port ?? 5432)
    }
}
