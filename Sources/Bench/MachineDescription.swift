import BellhopRules
import CLI
import Foundation
import Operations
import ServiceRuntime

/// The machine and servers of a measurement, without which its figures cannot be interpreted.
struct MachineDescription: Sendable {
    /// The load average before the run.
    ///
    /// Above a few tenths, other work was running.
    let load: Double?
    /// `nil` for a run without servers.
    private var server: (version: String, isDurable: Bool)?

    private let cores = ProcessInfo.processInfo.activeProcessorCount
    #if DEBUG
    private static let isOptimised = false
    #else
    private static let isOptimised = true
    #endif

    init(load: Double?) {
        self.load = load
    }

    init(_ testbed: Testbed, load: Double?) async throws {
        self.load = load
        server = (try await testbed.ledger.serverVersion(), try await testbed.ledger.isDurable())
    }

    /// The machine without the servers.
    var shortText: String {
        let build = Self.isOptimised ? "" : ", debug build"
        return "\(cores) cores, load \(load.map { $0.text(digits: 1) } ?? "unknown") before\(build)"
    }

    var text: String {
        var parts = ["\(cores) cores", "load \(load.map { $0.text(digits: 1) } ?? "unknown") before"]
        if let server { parts.append("PostgreSQL \(server.version)") }
        if server?.isDurable == false { parts.append("fsync or synchronous_commit off: these figures do not count") }
        if !Self.isOptimised { parts.append("debug build: these figures do not count") }
        return parts.joined(separator: ", ")
    }

    var json: JSONValue {
        var members = [
            ("cores", JSONValue.int(cores)), ("loadBefore", load.map { .decimal($0, digits: 2) } ?? .null),
            ("optimised", .bool(Self.isOptimised)),
        ]
        if let server { members += [("postgres", .string(server.version)), ("durable", .bool(server.isDurable))] }
        return .members(members)
    }
}
