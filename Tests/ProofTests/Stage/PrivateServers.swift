import Foundation
import Glibc
import Synchronization
import TestSupport

/// A RabbitMQ and a PostgreSQL that a test may kill.
///
/// `deploy/services` starts them in a separate folder and on separate ports, with the same data after each restart.
///
/// Thread safety: all members are constant; the scripts hold a lock.
final class PrivateServers: Sendable {
    enum Server: String {
        case broker = "rabbitmq"
        case database = "postgresql"
    }

    let addresses: ServerAddresses
    private let folder: URL

    /// Whether the necessary scripts and servers are installed.
    static let areThere =
        Servers.mayBeStarted && Program.find("setpriv") != nil
        && FileManager.default.fileExists(atPath: "/usr/lib/rabbitmq/bin/rabbitmq-server")
        && FileManager.default.fileExists(atPath: "/usr/lib/postgresql")

    private init(_ folder: URL) async throws {
        self.folder = folder
        try await Self.services("up", folder: folder)
        let lines = try String(contentsOf: folder.appendingPathComponent("env"), encoding: .utf8).split(separator: "\n")
        func value(_ name: String) throws -> String {
            let start = "export \(name)="
            guard let line = lines.first(where: { $0.hasPrefix(start) }) else { throw ProofFailure("no \(name)") }
            return String(line.dropFirst(start.count))
        }
        addresses = ServerAddresses(amqp: try value("BELLHOP_AMQP_URL"), database: try value("BELLHOP_DATABASE_URL"))
    }

    /// Runs a body with new servers and removes them with their data afterwards.
    static func with(_ body: (PrivateServers) async throws -> Void) async throws {
        await sweep()
        // Several tests of one process may have servers at the same time.
        let number = count.add(1, ordering: .relaxed).newValue
        let folder = parent.appendingPathComponent("\(prefix)\(getpid())-\(number)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let result: Result<Void, any Error>
        do { result = .success(try await body(try await PrivateServers(folder))) } catch { result = .failure(error) }
        await remove(folder)
        try result.get()
    }

    // MARK: - Faults

    /// Ends a server with this signal, waits for its end, and starts it again with its data.
    func restart(_ server: Server, with signal: Int32) async throws {
        let pid = try pid(of: server)
        guard kill(pid, signal) == 0 else { throw ProofFailure("cannot signal \(server), pid \(pid)") }
        try await eventually("\(server) is gone") { Self.isGone(pid) }
        try await Self.services("up", folder: folder)
    }

    private func pid(of server: Server) throws -> pid_t {
        let record = try String(contentsOf: folder.appendingPathComponent("run/\(server.rawValue)"), encoding: .utf8)
        guard let word = record.split(separator: " ").first, let pid = pid_t(word) else {
            throw ProofFailure("no pid of \(server)")
        }
        return pid
    }

    /// Returns whether the process has ended or is waiting to be collected.
    private static func isGone(_ pid: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
        return status.split(separator: ")").last?.first { $0 != " " } == "Z"
    }

    // MARK: - Start and end

    private static let parent = FileManager.default.temporaryDirectory
    private static let prefix = "bellhop-proof-servers-"
    private static let count = Atomic(0)

    private static func services(_ command: String..., folder: URL) async throws {
        let script = Program.checkout.appendingPathComponent("deploy/services")
        // The environment lacks the URLs of this run; otherwise the script would start nothing.
        let child = try ProgramRun(
            script,
            command + ["--data", folder.path],
            environment: Program.environment,
            named: "services",
            logs: parent
        )
        let ending = try await child.ending(atMost: .proof)
        defer { child.removeLog() }
        guard ending == .exited(0) else { throw ProofFailure("deploy/services \(command): \(ending)\n\(child.log)") }
    }

    private static func remove(_ folder: URL) async {
        try? await services("down", "--wipe", folder: folder)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends the servers of earlier runs that were killed.
    private static func sweep() async {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let process = name.dropFirst(prefix.count).prefix { $0 != "-" }
            guard let pid = pid_t(process), isGone(pid) else { continue }
            await remove(parent.appendingPathComponent(name))
        }
    }
}
