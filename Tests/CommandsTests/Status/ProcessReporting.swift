import CommandLineSupport
import Foundation
import IntegrationSupport
import Store

/// Heartbeats of processes that do not run, and the problems that the status reports about them.
protocol ProcessReporting {}

extension ProcessReporting {
    static func report(_ id: String, _ catalogs: String, role: String = "worker") -> Heartbeat {
        let identity = Heartbeat.Identity(id: id, role: role, version: "0.1.0", host: "h-\(id)", process: 7)
        return Heartbeat(identity, catalogs: catalogs)
    }

    /// Announces the process with a heartbeat an hour ahead, so that it counts however long the test takes.
    static func announce(_ report: Heartbeat, _ servers: ServerFixture) async throws {
        try await HeartbeatStore(pool: servers.pool).announce(report)
        _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
    }

    static func problems(_ prompt: Prompt) async throws -> [String] {
        let json = await prompt.run("status", "--json").output
        return try JSONDecoder().decode(Problems.self, from: Data(json.utf8)).problems
    }
}

private struct Problems: Decodable {
    let problems: [String]
}
