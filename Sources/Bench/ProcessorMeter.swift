import AMQP
import Postgres
import ServiceRuntime

/// The processor time of broker, database and stub during a run, if they are on this machine and visible.
struct ProcessorMeter: Sendable {
    private let broker: Int?
    /// The postmaster, whose descendants are counted, and the server process of this program's queries, which is not.
    private let database: (root: Int, ours: Int)?
    private let stub: Int?

    /// Seconds used so far, or `nil` for a process that is not visible.
    struct Reading: Sendable {
        var broker: Double?
        var database: Double?
        var stub: Double?
    }

    init(_ testbed: Testbed, stub: PushStub) async throws {
        let hosts = try testbed.setup.broker().hosts
        broker = hosts.first.flatMap { LocalHost.isLocal($0.name) ? ProcessTable.listener(onPort: Int($0.port)) : nil }
        database = try await testbed.databaseProcess().flatMap { ours in
            ProcessTable.parent(of: ours).map { ($0, ours) }
        }
        self.stub = stub.process.map { Int($0.identifier) } ?? stub.localPort.flatMap(ProcessTable.listener(onPort:))
    }

    func read() -> Reading {
        Reading(
            broker: broker.flatMap(ProcessTable.processorTime(of:)),
            database: database.flatMap { ProcessTable.processorTime(ofTree: $0.root, without: $0.ours) },
            stub: stub.flatMap(ProcessTable.processorTime(of:))
        )
    }
}

extension Testbed {
    /// Returns the server process of this program's connection, or `nil` if the server is not visible on this machine.
    func databaseProcess() async throws -> Int? {
        let url = setup.configuration.databaseURL
        let host = try url.map { try DatabaseURL($0.revealed)["host"] ?? "" } ?? ""
        let process = try await ledger.serverProcess()
        return LocalHost.isLocal(host) && ProcessTable.name(of: process)?.hasPrefix("postgres") == true ? process : nil
    }
}

extension ProcessorMeter.Reading {
    static func - (later: Self, earlier: Self) -> Self {
        func difference(_ path: KeyPath<Self, Double?>) -> Double? {
            guard let end = later[keyPath: path], let start = earlier[keyPath: path] else { return nil }
            return max(0, end - start)
        }
        return Self(
            broker: difference(\.broker),
            database: difference(\.database),
            stub: difference(\.stub)
        )
    }
}
