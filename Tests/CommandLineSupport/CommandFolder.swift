package import Foundation
package import IntegrationSupport
import TestSupport

/// A separate folder for a test, with the catalogue of the app drop in `catalogs`.
package enum CommandFolder {
    package static func with<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("bellhop"))
        let catalogs = folder.appendingPathComponent("catalogs")
        try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(at: shipped, to: catalogs.appendingPathComponent("drop.json5"))
        return try await body(folder)
    }

    /// Runs a body with a folder and a prompt that uses its catalogues.
    package static func withPrompt<Value>(_ body: (Prompt, URL) async throws -> Value) async throws -> Value {
        try await with { folder in
            try await body(Prompt().with("BELLHOP_CATALOGS", folder.appendingPathComponent("catalogs").path), folder)
        }
    }

    /// Runs a body with a prompt that uses the servers, namespace and retry tiers of a fixture.
    package static func withPrompt<Value>(
        on servers: ServerFixture,
        _ body: (Prompt, URL) async throws -> Value
    ) async throws -> Value {
        try await withPrompt { prompt, folder in
            var prompt = prompt
            prompt.environment["BELLHOP_AMQP_URL"] = Servers.amqpURL
            prompt.environment["BELLHOP_DATABASE_URL"] = Servers.databaseURL
            prompt.environment["BELLHOP_NAMESPACE"] = servers.namespace.name
            prompt.environment["BELLHOP_RETRY_DELAYS"] = ServerFixture.tiers.map(\.name).joined(separator: ",")
            prompt.environment["BELLHOP_METRICS_LISTEN"] = "127.0.0.1:0"
            return try await body(prompt, folder)
        }
    }

    private static var shipped: URL {
        Checkout.file("deploy/catalogs/drop.json5")
    }
}
