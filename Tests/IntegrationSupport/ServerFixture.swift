package import AMQP
package import BellhopRules
import Foundation
package import Pipeline
package import Postgres
import ServiceRuntime
package import Settings
import Store
import Synchronization
import TestSupport

/// A separate namespace on the shared servers for one test: a migrated schema and, on request, a topology.
package struct ServerFixture: Sendable {
    package let namespace: Namespace
    /// A pool with the rights of a worker, as in production.
    package let pool: PostgresPool
    /// A pool with the rights of the schema's owner, for checks of the tables.
    package let owner: PostgresPool
    package let catalogs: CatalogSet

    /// Retry tiers that are short enough for a test.
    package static let tiers = [RetryTier(.seconds(1)), RetryTier(.seconds(3)), RetryTier(.seconds(10))]

    /// Returns a query that counts the devices which were reached, or the others.
    package static func countOfDevices(reached: Bool) -> String {
        """
        SELECT count(*) FROM push_subscriptions s JOIN people p ON p.user_id = s.profile_id AND p.app = s.app
        WHERE (s.reached_at IS NOT NULL OR coalesce(
            device_mark(s.id, s.device_token, s.unreached_since) = ANY (string_to_array(p.reached, ' ')), false
        )) = \(reached)
        """
    }

    /// Runs a body on a new schema and removes it afterwards.
    ///
    /// `partitions` is the number of partitions of inbox and ledger.
    package static func withSchema<Value>(
        catalogs: CatalogSet? = nil,
        partitions: Int = 0,
        _ body: (ServerFixture) async throws -> Value
    ) async throws -> Value {
        guard let namespace = Namespace(Servers.uniqueName("t").replacingOccurrences(of: "-", with: "_")) else {
            throw ServerFixtureError("the unique name makes no namespace")
        }
        let owner = try makePool(setUp: ["SET search_path TO \(namespace)"])
        guard case .applied = try await Migrator(pool: owner, namespace: namespace).migrate(partitions: partitions)
        else {
            throw ServerFixtureError("the migrations were refused")
        }
        try await owner.withConnection { (connection) throws(PostgresError) in try connection.execute(RawRows.setUp) }
        let servers = ServerFixture(
            namespace: namespace,
            pool: try makePool(setUp: namespace.setUp(as: .worker)),
            owner: owner,
            catalogs: try catalogs ?? drop()
        )
        return try await ending(servers) { try await body(servers) }
    }

    /// Runs a body with a topology at the broker too.
    package static func withTopology<Value>(
        catalogs: CatalogSet? = nil,
        _ body: (ServerFixture) async throws -> Value
    ) async throws -> Value {
        try await withSchema(catalogs: catalogs) { servers in
            _ = try await servers.applier().apply()
            do {
                let value = try await body(servers)
                try await servers.removeTopology()
                return value
            } catch {
                try? await servers.removeTopology()
                throw error
            }
        }
    }

    private static func ending<Value>(_ servers: ServerFixture, _ body: () async throws -> Value) async throws -> Value
    {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await servers.pool.close()
        try? await servers.owner.withConnection { (connection) throws(PostgresError) in
            try connection.execute(servers.dropSchema)
        }
        await servers.owner.close()
        return try result.get()
    }

    /// Creates a further pool with these statements on each connection.
    package static func makePool(setUp: [String], size: Int = 6) throws -> PostgresPool {
        var options = PoolOptions(url: try databaseURL)
        options.size = 0...size
        options.setUp = setUp
        options.acquireTimeout = LongestWait.duration
        return PostgresPool(options)
    }

    static var databaseURL: DatabaseURL {
        get throws {
            guard let url = Servers.databaseURL else { throw ServerFixtureError("BELLHOP_DATABASE_URL is not set") }
            return try DatabaseURL(url)
        }
    }

    // MARK: - Broker

    package var names: TopologyNames { TopologyNames(namespace) }

    package var broker: BrokerAddress {
        get throws {
            guard let url = Servers.amqpURL else { throw ServerFixtureError("BELLHOP_AMQP_URL is not set") }
            return try BrokerAddress(validating: url)
        }
    }

    package func applier(for catalogs: CatalogSet? = nil) throws -> TopologyApplier {
        TopologyApplier(
            broker: try broker,
            plan: TopologyPlan(names: names, catalogs: catalogs ?? self.catalogs, tiers: Self.tiers),
            records: BindingStore(pool: owner)
        )
    }

    /// Removes the schema and the topology without leaving a trace.
    package func wipe() async throws {
        try await removeTopology()
        try await owner.withConnection { (connection) throws(PostgresError) in try connection.execute(dropSchema) }
    }

    private var dropSchema: String { "SET client_min_messages TO warning; DROP SCHEMA \(namespace) CASCADE" }

    private func removeTopology() async throws {
        let plan = TopologyPlan(names: names, catalogs: catalogs, tiers: Self.tiers)
        try await BrokerSession.with(try broker, name: "test, cleaning up") { session in
            for queue in plan.queues { try session.deleteQueue(queue.name) }
            for exchange in plan.exchanges { try session.deleteExchange(exchange.name) }
        }
    }

    // MARK: - Material

    /// Returns the shipped catalogue of the app drop.
    package static func drop() throws -> CatalogSet {
        try shipped { $0 == "drop.json5" }
    }

    /// Returns the shipped catalogues: all of them, or those whose file names match `isWanted`.
    package static func shipped(_ isWanted: (String) -> Bool = { _ in true }) throws -> CatalogSet {
        let names = try FileManager.default.contentsOfDirectory(atPath: catalogsFolder.path).filter(isWanted).sorted()
        if let known = readSets.withLock({ $0[names] }) { return known }
        let files = try names.map { name in
            (name, [UInt8](try Data(contentsOf: catalogsFolder.appendingPathComponent(name))))
        }
        let catalogs = try CatalogSet.load(files: files).get()
        readSets.withLock { $0[names] = catalogs }
        return catalogs
    }

    /// Sets by the names of their files.
    ///
    /// Each is read once, because reading a catalogue is slow in a debug build.
    private static let readSets = Mutex<[[String]: CatalogSet]>([:])

    /// Returns an app's shipped catalogue with one passage replaced.
    package static func shipped(_ app: String, replacing passage: String, with other: String) throws -> CatalogSet {
        let text = try changed(app, replacing: passage, with: other)
        return try CatalogSet.load(files: [("\(app).json5", Array(text.utf8))]).get()
    }

    /// Returns the text of that catalogue.
    package static func changed(_ app: String, replacing passage: String, with other: String) throws -> String {
        let file = catalogsFolder.appendingPathComponent("\(app).json5")
        let text = try String(contentsOf: file, encoding: .utf8)
        guard text.contains(passage) else {
            throw ServerFixtureError("the catalogue of \(app) has no passage \(passage)")
        }
        return text.replacingOccurrences(of: passage, with: other)
    }

    private static let catalogsFolder = Checkout.file("deploy/catalogs")

    /// Returns the submission that the rules parse from a JSON body.
    package func submission(_ json: String) throws -> Submission {
        try SubmissionParser(catalogs).parse(InboundEnvelope(body: Array(json.utf8), source: .elsewhere)).get()
    }

    /// Returns the single number of a query's result.
    package func count(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int {
        Int(try await owner.run(Statement(sql), parameters).integer(0, 0))
    }

    /// Returns the single column of a query's result, with NULL as `nil`.
    package func column(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String?] {
        let rows = try await owner.run(Statement(sql), parameters)
        return try (0..<rows.count).map { try rows.optionalText($0, 0) }
    }
}

package struct ServerFixtureError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
