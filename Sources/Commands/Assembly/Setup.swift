import AMQP
import BellhopRules
import Foundation
import Pipeline
import Postgres
import ServiceRuntime
import Store

/// What commands stand on: made from a checked configuration, with faults told in the words of a setting.
struct Setup: Sendable {
    let configuration: BellhopConfiguration
    /// What is said in it beside our own settings.
    var environment: [String: String] = [:]
    /// With the rights of the desk, for commands that run inside a process that keeps one; it is not theirs to close.
    var deskPool: PostgresPool?

    init(
        configuration: BellhopConfiguration,
        environment: [String: String] = [:],
        deskPool: PostgresPool? = nil
    ) {
        self.configuration = configuration
        self.environment = environment
        self.deskPool = deskPool
    }

    /// Itself, where these settings are there.
    func having(_ required: Set<Setting>) throws(CommandFailure) -> Setup {
        if required.contains(.databaseURL), configuration.databaseURL == nil { throw Self.missing(.databaseURL) }
        if required.contains(.amqpURL), configuration.amqpURL == nil { throw Self.missing(.amqpURL) }
        return self
    }

    /// A pool with the rights of a role; nil stands for the log-in's own, as the schema's owner.
    ///
    /// Who has the rights of the desk sits before a terminal, and is told at once where the server refuses, and within
    /// seconds where it does not answer.
    func pool(
        as rights: Rights?,
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

    /// Runs a body with a pool, closed behind it.
    func withPool<Value: Sendable>(
        as rights: Rights?,
        name: String,
        size: Int = 1,
        patience: Duration = .seconds(30),
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        if rights == .admin, let deskPool { return try await body(deskPool.with(statementTimeout: patience)) }
        let pool = try pool(as: rights, name: name, size: size, patience: patience)
        let result: Result<Value, any Error>
        do { result = .success(try await body(pool)) } catch { result = .failure(error) }
        await pool.close()
        return try result.get()
    }

    /// The same with the rights of the desk, for somebody who is told what they asked where the database is away.
    func withDesk<Value: Sendable>(
        _ attempted: String,
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        try await reaching(
            for: "bellhop \(attempted)",
            whatToDo: "bring the database back (docs/runbooks/database.md), and look again"
        ) { try await withPool(as: .admin, name: attempted, patience: .seconds(120), body) }
    }

    /// What such a pool begins with.
    func poolOptions(as rights: Rights?, name: String, size: Int) throws -> PoolOptions {
        guard let url = configuration.databaseURL else { throw Self.missing(.databaseURL) }
        var options = PoolOptions(url: try DatabaseURL(url.revealed))
        options.size = 1...size
        options.applicationName = "bellhop \(name)"
        options.setUp = rights.map(configuration.namespace.setUp) ?? ["SET search_path TO \(configuration.namespace)"]
        options.waitsForServer = rights != .admin
        options.silence = rights == .admin ? .seconds(2) : nil
        return options
    }

    @inline(never)
    func broker() throws -> BrokerAddress {
        guard let url = configuration.amqpURL else { throw Self.missing(.amqpURL) }
        return try BrokerAddress(validating: url.revealed)
    }

    var names: TopologyNames { TopologyNames(configuration.namespace) }

    func plan(_ catalogs: CatalogSet) -> TopologyPlan {
        TopologyPlan(names: names, catalogs: catalogs, tiers: configuration.retryDelays.map(RetryTier.init))
    }

    var policy: DeliveryPolicy {
        DeliveryPolicy(
            ladder: RetryLadder(
                tiers: configuration.retryDelays.map(RetryTier.init),
                limit: configuration.retryLimit
            ),
            lease: configuration.lease
        )
    }

    /// Reads every `*.json5` of the folder; all faults of all files end the command together.
    func catalogs() throws -> CatalogSet {
        guard let folder = configuration.catalogs else { throw Self.missing(.catalogs) }
        guard let content = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw Self.noCatalogs(in: folder, "the folder cannot be read")
        }
        let names = content.filter { $0.hasSuffix(".json5") }.sorted()
        guard !names.isEmpty else { throw Self.noCatalogs(in: folder, "there is no *.json5 file") }
        var files: [(name: String, bytes: [UInt8])] = []
        var faults: [String] = []
        for name in names {
            let path = URL(fileURLWithPath: folder).appendingPathComponent(name)
            if let content = try? Data(contentsOf: path) {
                files.append((name, [UInt8](content)))
            } else {
                faults.append("\(name): cannot be read; make it a file that can be read, or take it away")
            }
        }
        switch CatalogSet.load(files: files, hasZone: hasZone) {
        case .success(let catalogs) where faults.isEmpty: return catalogs
        case .success: break
        case .failure(let found): faults += found.faults.map(\.description)
        }
        throw CatalogFailure(folder: folder, faults: faults)
    }

    /// Whether this machine knows a zone.
    ///
    /// A machine without any cannot tell a slip of the pen from a zone: workers do not start there, and what only
    /// publishes may.
    private var hasZone: (TimeZoneName) -> Bool {
        let zones = ZoneLibrary(environment: ProcessInfo.processInfo.environment)
        return { zones.isThere ? zones[$0] != nil : true }
    }

    private static func noCatalogs(in folder: String, _ cameBack: String) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "reading the catalogues in \(folder)",
            cameBack: cameBack,
            whatToDo: "point \(Setting.catalogs.environmentName) at a folder of catalogues, such as deploy/catalogs"
        )
    }

    static func missing(_ setting: Setting) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "reading the configuration",
            cameBack: "\(setting.environmentName) is not set",
            whatToDo: "set it, or give --\(setting.flagName)"
        )
    }
}
