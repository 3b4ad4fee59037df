import AMQP
import Foundation
import IntegrationSupport
import Sandbox
import Store
import TestSupport

/// An FCM emulator with a stage, and a device for every user of `Traffic`.
///
/// The emulator runs in the test process: its requests are compared one by one.
struct PushFixture: Sendable {
    let stage: Stage
    let sandbox: ProviderSandbox
    /// The worker's settings for this emulator.
    let settings: [String: String]

    /// Runs a body with a new sandbox.
    static func with(_ stage: Stage, _ body: (PushFixture) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        let result: Result<Void, any Error>
        do {
            let file = try ProvidersFile(in: stage.folder, ["drop": sandbox])
            let fixture = PushFixture(
                stage: stage,
                sandbox: sandbox,
                settings: [
                    "BELLHOP_PROVIDERS": file.path, "BELLHOP_RETRY_LIMIT": "20",
                    "BELLHOP_CATALOGS": try ungathered(in: stage.folder),
                ]
            )
            result = .success(try await body(fixture))
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    /// Runs a body with a new sandbox on a new stage.
    static func withStage(_ body: (PushFixture) async throws -> Void) async throws {
        try await Stage.with { try await with($0, body) }
    }

    /// Writes a folder with a catalogue without digests: here every event is pushed separately.
    private static func ungathered(in folder: URL) throws -> String {
        let file = Program.catalogs.appendingPathComponent("drop.json5")
        let catalog = try String(contentsOf: file, encoding: .utf8)
        let changed = catalog.replacingOccurrences(
            of: #"priority: "low","#,
            with: #"priority: "low", digest: false,"#
        )
        guard changed != catalog else { throw ProofFailure("the catalogue has no type of low priority") }
        let place = folder.appendingPathComponent("ungathered")
        // The other apps' catalogues are in the same folder: their types are bound on the broker.
        try FileManager.default.copyItem(at: Program.catalogs, to: place)
        try Data(changed.utf8).write(to: place.appendingPathComponent("drop.json5"))
        return place.path
    }

    func worker(_ changes: [String: String] = [:]) async throws -> Role {
        try await stage.worker(settings.merging(changes) { $1 })
    }

    func pool(of workers: Int, _ changes: [String: String] = [:]) async throws -> Role {
        try await stage.pool(of: workers, settings.merging(changes) { $1 })
    }

    /// Registers a device for every user and enables the types that are off by default.
    ///
    /// Returns when the rows are stored, which requires a running worker.
    func registerDevices() async throws {
        let messages = Traffic.users.flatMap { user in
            [
                feed(
                    "drop.subscription.upserted",
                    #"{"userId":"\#(user)","token":"\#(Self.token(of: user))","platform":"android","provider":"fcm"}"#
                ),
                feed(
                    "drop.recipient.upserted",
                    #"{"userId":"\#(user)","preferences":{"eventToggles":{"rate_update":true}}}"#
                ),
            ]
        }
        let outcomes = try await Producer.with(try stage.broker) { await $0.publisher.publish(messages) }
        guard outcomes.allSatisfy({ $0 == .confirmed }) else { throw ProofFailure("a feed was not confirmed") }
        try await eventually("the devices are registered") {
            let devices = try await stage.count("push_subscriptions")
            let preferences = try await stage.count("notification_preferences")
            return devices == Traffic.users.count && preferences == Traffic.users.count
        }
    }

    static func token(of user: String) -> String { "token-\(user)" }

    private func feed(_ key: String, _ body: String) -> OutgoingMessage {
        OutgoingMessage(exchange: stage.names.events, routingKey: key, body: Array(body.utf8))
    }

    // MARK: - End

    /// Waits until nothing is owed, and returns the workers' count of repeats.
    ///
    /// The count is read before the drain, since a process's metrics end with the process. Of many thousands of
    /// randomly rejected pushes, some are rejected a dozen times, ten seconds apart.
    func settle(_ sent: Sent, workers: [Role]) async throws -> Int {
        // A loss lets this time out, and the comparison then describes the loss better.
        try? await eventually("nothing is owed", atMost: .proof) {
            guard workers.allSatisfy(\.child.isRunning) else { return true }
            try await stage.endLeasesOfTheDead()
            let rows = try await stage.count("notifications")
            let owed = try await stage.count("deliveries WHERE state IN (\(PushBalance.owed))")
            return rows >= sent.records.count && owed == 0
        }
        var repeats = 0.0
        for worker in workers where worker.child.isRunning {
            repeats += try await worker.meter("bellhop_repeated_sends_total")
        }
        return Int(repeats)
    }

    /// Compares the expected pushes with the ledger and with FCM's requests.
    func balance(_ sent: Sent, counted: Int) async throws -> PushBalance {
        let rows = try await stage.owner.run(
            """
            SELECT n.event_id || '|' || n.user_id, n.user_id, n.id, concat_ws(' ', d.state, d.reason),
                   d.attempts::bigint, d.unknown_sends::bigint
            FROM deliveries d
            JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
            """
        )
        let lines = try rows.indices.map { row in
            PushBalance.Line(
                record: try rows.text(row, 0),
                push: .init(token: Self.token(of: try rows.text(row, 1)), tag: try rows.text(row, 2)),
                state: try rows.text(row, 3),
                attempts: Int(try rows.integer(row, 4)),
                unknownSends: Int(try rows.integer(row, 5))
            )
        }
        return PushBalance(
            expected: sent.records,
            lines: lines,
            received: sandbox.received(.fcm),
            counted: counted
        )
    }
}
