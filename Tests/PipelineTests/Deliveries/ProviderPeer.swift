import BellhopRules
import Foundation
import IntegrationSupport
import Pipeline
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

/// A worker with the real senders of an app, and strict emulators of their providers.
struct ProviderPeer: Sendable {
    let pipeline: PipelineFixture
    let sandbox: ProviderSandbox

    /// The app whose producers publish the events.
    let app: String

    /// The provider of the app's devices, unless a test names another one.
    let provider: PushProvider

    /// Runs a body with the app's shipped catalogue, unless `catalogs` is another, and ends everything afterwards.
    ///
    /// With `room`, no scheduler duty stores dead letters, and the dead-letter queue accepts at most that many.
    /// `afterwards` checks the remaining state after all workers have ended.
    static func run(
        app: String = "drop",
        over provider: PushProvider = .fcm,
        catalogs: CatalogSet? = nil,
        looks: ReceiptPolicy? = nil,
        onDeadLettersOf room: Int? = nil,
        afterwards: @escaping @Sendable (ServerFixture) async throws -> Void = { _ in },
        _ body: @escaping @Sendable (ProviderPeer) async throws -> Void
    ) async throws {
        let sandbox = try await ProviderSandbox.start()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("peer"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            let senders = try PushSenders(
                ProviderConfiguration.read(file: try ProvidersFile(in: folder, [app: sandbox]).path),
                context: .init(logger: Logger(label: "push", level: .error, sink: StandardErrorSink(form: .text)))
            )
            var outfit = PipelineFixture.Outfit(senders: senders.senders)
            outfit.mail = senders.emailSenders
            outfit.receipts = senders.receipts
            if let looks { outfit.looks = looks }
            outfit.hasClerk = room == nil
            let catalogs = try catalogs ?? ServerFixture.shipped { $0 == "\(app).json5" }
            try await ServerFixture.withTopology(catalogs: catalogs) { [outfit] servers in
                if let room { try await servers.narrowDeadLetters(to: room) }
                try await PipelineFixture.on(servers, outfit: outfit) { pipeline in
                    try await body(ProviderPeer(pipeline: pipeline, sandbox: sandbox, app: app, provider: provider))
                }
                try await afterwards(servers)
            }
            await senders.close()
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    // MARK: - Actions of tests

    /// Returns a device token in the provider's format.
    func token(_ name: String) -> String { provider == .expo ? "ExponentPushToken[\(name)]" : name }

    /// Registers devices and waits until they are stored.
    func register(_ devices: [(user: String, name: String)], more: String = "") async throws {
        try await pipeline.publish(
            devices.map { user, name in
                let device = #""token":"\#(token(name))","platform":"android","provider":"\#(provider.rawValue)""#
                let body = #"{"userId":"\#(user)",\#(device)\#(more)}"#
                return pipeline.event(body, key: "\(app).subscription.upserted")
            }
        )
        try await pipeline.wait(for: devices.count, "SELECT count(*) FROM push_subscriptions")
    }

    func publish(
        _ ids: [String],
        to users: [String],
        type: String = "transaction_complete",
        more: String = ""
    ) async throws {
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        try await pipeline.publish(
            ids.map { id in
                pipeline.event(
                    #"{"id":"\#(id)","to":{"users":[\#(names)]},"title":"Hei","body":"på deg"\#(more)}"#,
                    key: "\(app).\(type)"
                )
            }
        )
    }

    /// Returns every row of the ledger as text: user, state, reason, attempts.
    func ledger() async throws -> [String?] {
        try await pipeline.servers.column(
            "SELECT concat_ws('|', user_id, state, reason, attempts) FROM deliveries ORDER BY user_id, target"
        )
    }

    /// Waits until that many deliveries are settled or accepted by their provider.
    func waitUntilSettled(_ count: Int) async throws {
        try await pipeline.wait(
            for: count,
            "SELECT count(*) FROM deliveries WHERE state NOT IN ('pending', 'sending', 'retrying', 'deferred')"
        )
    }

    /// Waits until that many deliveries are settled and have no pending receipt.
    func waitUntilAnswered(_ count: Int) async throws {
        try await pipeline.wait(
            for: count,
            """
            SELECT count(*) FROM deliveries
            WHERE state NOT IN ('pending', 'sending', 'retrying', 'deferred', 'accepted')
            """
        )
    }

    /// Returns the ledger's count of sends with an unknown outcome, by notification.
    func unknownSends() async throws -> [String: Int] {
        let rows = try await pipeline.servers.owner.run("SELECT notification_id, unknown_sends::bigint FROM deliveries")
        return try rows.indices.reduce(into: [:]) {
            $0[try rows.text($1, 0), default: 0] += Int(try rows.integer($1, 1))
        }
    }

    /// The worker's counter of repeats of such sends.
    var repeatedSends: Int {
        let line = pipeline.metrics.text().split(separator: "\n").first {
            $0.hasPrefix("bellhop_repeated_sends_total ")
        }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
    }

    /// The number of arrivals of each push, by tag.
    var arrivals: [String: Int] {
        sandbox.received(.fcm).reduce(into: [:]) { counts, request in counts[request.tag ?? "-", default: 0] += 1 }
    }
}
