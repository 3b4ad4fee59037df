import AMQP
import BellhopRules
import CLI
import Foundation
import Pipeline
import Postgres
import Roles
import ServiceRuntime
import Settings
import Store

/// A namespace for one measurement: schema, topology, files, and the processes that use it.
final class Testbed: Sendable {
    let setup: CommandContext
    let publisher: Publisher
    let ledger: BenchmarkBook
    let fanouts: BenchmarkFanoutBook
    let inboxes: BenchmarkInboxBook
    let outbox: BenchmarkOutboxBook
    let server: BenchmarkServerBook
    let soak: BenchmarkSoakBook
    /// The folder of the logs and the providers' file.
    ///
    /// It is removed with the testbed.
    let folder: String
    private let catalogs: CatalogSet
    /// A pool with the rights of the schema's owner.
    private let owner: PostgresPool
    private let children = ChildRoster()
    private let environment: [String: String]

    /// Creates everything, runs the body, and removes everything unless `keeping` the schema and the queues.
    ///
    /// `tables` are those of the workers whose progress is read.
    static func with<Value>(
        _ call: Call,
        keeping: Bool,
        reading tables: BenchmarkBook.Tables = .own,
        _ body: (Testbed) async throws -> Value
    ) async throws -> Value {
        let testbed = try Testbed(call, reading: tables)
        let result: Result<Value, any Error>
        do {
            try await testbed.prepare()
            result = .success(try await body(testbed))
        } catch {
            result = .failure(error)
        }
        // A detached task, since a cancelled task can no longer talk to the servers.
        await Task.detached { await testbed.remove(keeping: keeping) }.value
        return try result.get()
    }

    private init(_ call: Call, reading tables: BenchmarkBook.Tables) throws {
        let name = "bench_" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        folder = NSTemporaryDirectory() + "bellhop-" + name
        environment = Self.environment(call, name: name, folder: folder)
        let configuration = try Self.configuration(environment)
        setup = CommandContext(configuration: configuration)
        catalogs = try setup.catalogs()
        owner = try setup.pool(as: nil, name: "bench", size: 1, patience: .seconds(600))
        ledger = BenchmarkBook(pool: owner, tables: tables)
        fanouts = BenchmarkFanoutBook(pool: owner)
        inboxes = BenchmarkInboxBook(pool: owner)
        outbox = BenchmarkOutboxBook(pool: owner)
        server = BenchmarkServerBook(pool: owner)
        soak = BenchmarkSoakBook(pool: owner)
        publisher = Publisher(
            PublisherOptions(broker: try setup.broker(), name: "bellhop bench, publishing", window: 2_000)
        )
        publisher.start()
    }

    /// Returns the children's environment: our settings, with this namespace and the emulators.
    private static func environment(
        _ call: Call,
        name: String,
        folder: String
    ) -> [String: String] {
        var environment = call.shell.environment
        for setting in Setting.all {
            if let value = call.words.settings[setting.flagName] { environment[setting.environmentName] = value }
        }
        environment[Setting.namespace.environmentName] = name
        environment[Setting.providers.environmentName] = providersFile(folder)
        environment[Setting.metricsListen.environmentName] = "127.0.0.1:0"
        environment[Setting.log.environmentName] = "info,json"
        return environment
    }

    private static func configuration(_ environment: [String: String]) throws -> BellhopConfiguration {
        var environment = environment
        // This process needs no providers. Their file is written later.
        environment[Setting.providers.environmentName] = nil
        return try BellhopConfiguration.read(
            environment: environment,
            required: [.amqpURL, .databaseURL, .catalogs]
        ).get()
    }

    static func providersFile(_ folder: String) -> String { folder + "/providers.json5" }

    var names: TopologyNames { setup.names }

    /// The queue of another tenant, which a phase of W7 creates.
    var neighbourQueue: String { "\(names.namespace).neighbour" }

    /// The program to start as a worker, such as a profiler's wrapper; `nil` for this program.
    var workerProgram: String? { environment["BENCH_WORKER"] }

    private func prepare() async throws {
        try Workload.verify(catalogs)
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let migrator = Migrator(pool: owner, namespace: setup.configuration.namespace)
        guard case .applied = try await migrator.migrate() else {
            throw CommandFailure(
                .bug,
                attempted: "migrating an empty schema",
                cameBack: "the migrations were refused",
                whatToDo: "report it"
            )
        }
        let applier = TopologyApplier(
            broker: try setup.broker(),
            plan: setup.plan(catalogs),
            records: BindingStore(pool: owner)
        )
        _ = try await applier.apply()
    }

    /// Removes as much as possible and continues after an error.
    private func remove(keeping: Bool) async {
        await children.endAll()
        await publisher.close()
        if !keeping {
            try? await removeTopology()
            let namespace = setup.configuration.namespace
            try? await owner.withConnection { (connection) throws(StoreError) in
                try connection.execute("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS \(namespace) CASCADE")
            }
            try? FileManager.default.removeItem(atPath: folder)
        }
        await owner.close()
    }

    private func removeTopology() async throws {
        let plan = setup.plan(catalogs)
        let neighbour = neighbourQueue
        try await BrokerSession.with(try setup.broker(), name: "bellhop bench, removing") { session in
            for queue in plan.queues { _ = try session.deleteQueue(queue.name) }
            for exchange in plan.exchanges { try session.deleteExchange(exchange.name) }
            // It exists only if the phase that publishes to it was interrupted.
            _ = try session.deleteQueue(neighbour)
        }
    }

    // MARK: - Steps of a measurement

    /// Starts another process of this program, which ends with the testbed.
    ///
    /// A worker is a process of the program that `BENCH_WORKER` names, if it is set.
    ///
    /// `settings` are environment variables. `nil` removes one.
    func start(_ words: [String], log: String, with settings: [String: String?] = [:]) throws -> BenchChild {
        var environment = environment.merging(settings)
        // The sandbox creates the files that the providers' file will name.
        if words.first == "sandbox" { environment[Setting.providers.environmentName] = nil }
        let program = words.first == WorkerCommand.name ? workerProgram : nil
        let child = try BenchChild(
            words,
            of: program ?? BenchChild.thisProgram,
            environment: environment,
            logFile: "\(folder)/\(log).log"
        )
        children.add(child)
        return child
    }

    /// Starts an external program, which also ends with the testbed.
    func start(program: String, log: String, with settings: [String: String?]) throws -> BenchChild {
        let child = try BenchChild(
            [],
            of: program,
            environment: environment.merging(settings),
            logFile: "\(folder)/\(log).log"
        )
        children.add(child)
        return child
    }

    /// Returns the queries about the tables of a worker or of a peer.
    func ledger(of tables: BenchmarkBook.Tables) -> BenchmarkBook { BenchmarkBook(pool: owner, tables: tables) }

    /// Fills the tables with the workload's users.
    func seed(_ workload: Workload) async throws {
        let people = BenchmarkPeopleBook(pool: owner)
        guard let app = AppID(validating: Workload.appName) else { return }
        for start in stride(from: 0, to: workload.users, by: 5_000) {
            try Task.checkCancellation()
            let part = (start..<min(start + 5_000, workload.users)).map(workload.person)
            try await people.insert(part, app: app, areReached: workload.areDevicesReached)
        }
        try await ledger.analyze()
    }

    /// Publishes events as a producer does, and requires the broker's confirm for each.
    func publish(_ events: Range<Int>, of workload: Workload) async throws {
        for start in stride(from: events.lowerBound, to: events.upperBound, by: 5_000) {
            try Task.checkCancellation()
            let part = start..<min(start + 5_000, events.upperBound)
            try await insist(part.flatMap(workload.publications).filter(events.contains).map { message($0, workload) })
        }
    }

    private func message(_ event: Int, _ workload: Workload) -> OutgoingMessage {
        message(workload.id(ofEvent: event), workload.type(ofEvent: event), workload.body(ofEvent: event))
    }

    private func message(_ id: String, _ type: String, _ body: String) -> OutgoingMessage {
        OutgoingMessage(
            exchange: names.events,
            routingKey: "\(Workload.appName).\(type)",
            properties: MessageProperties(contentType: "application/json", messageID: id),
            body: Array(body.utf8)
        )
    }

    /// Publishes a single event of the benchmark's app.
    func publish(_ id: String, type: String, body: String) async throws {
        try await insist([message(id, type, body)])
    }

    /// Publishes messages and requires every confirm.
    func insist(_ messages: [OutgoingMessage]) async throws {
        guard let failure = await publisher.publish(messages).first(where: { $0 != .confirmed }) else { return }
        throw CommandFailure(
            .tryAgain,
            attempted: "publishing the benchmark's events",
            cameBack: "\(failure)",
            whatToDo: "see that the broker takes messages"
        )
    }

    /// Returns whether the dead-letter queue contains a message.
    ///
    /// It reads the queue, because the broker's statistics are late.
    func hasDeadLetters() async throws -> Bool {
        let queue = names.dead
        return try await BrokerSession.with(try setup.broker(), name: "bellhop bench, looking") { session in
            try session.get(queue) != nil
        }
    }
}

extension [String: String] {
    /// Returns the dictionary with these values merged in.
    ///
    /// A `nil` value removes its key.
    fileprivate func merging(_ settings: [String: String?]) -> [String: String] {
        settings.reduce(into: self) { $0[$1.key] = $1.value }
    }
}
