import BellhopRules
import Foundation
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing
import Workbench

@Suite(
    "Deliveries to browsers",
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.minutes(5))
)
struct BrowserDeliveryTests {
    @Test(
        "padel: a browser decrypts what a producer said; one that unsubscribed is revoked; one without keys is refused"
    )
    func padel() async throws {
        try await withPadel { rig, sandbox in
            let (reader, leaver) = (try sandbox.makeWebPushSubscription(), try sandbox.makeWebPushSubscription())
            try await rig.publish([
                rig.event(try Self.registration("reader", reader), key: "padel.subscription.upserted"),
                rig.event(try Self.registration("leaver", leaver), key: "padel.subscription.upserted"),
                rig.event(try Self.registration("keyless", [:]), key: "padel.subscription.upserted"),
            ])
            try await rig.wait(for: 2, "SELECT count(*) FROM push_subscriptions")
            sandbox.endWebPushSubscription(endpoint: try #require(leaver["endpoint"]?.string))
            try await rig.publish([
                rig.event(
                    """
                    {"id":"e1","to":{"users":["reader","leaver","keyless"]},"route":"/schema",
                     "data":{"when":"Tisdag 19:00","place":"PDL Center"},"metadata":{"matchId":"m1"}}
                    """,
                    key: "padel.scheduled_match_new"
                )
            ])
            try await rig.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            try await rig.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'subscription-gone'"
            )
            let received = try #require(sandbox.received(.webpush).first { $0.answer?.status == 201 })
            #expect(received.token == reader["endpoint"]?.string)
            let payload = try #require(received.body["payload"])
            #expect(payload["title"] == "Ny match i schemat")
            #expect(payload["body"] == "Tisdag 19:00 på PDL Center.")
            #expect(payload["url"] == "/schedule")
            #expect(payload["type"] == "scheduled_match_new")
            #expect(payload["metadata"] == ["matchId": "m1"])
        }
    }

    private static func registration(_ user: String, _ subscription: JSONObject) throws -> String {
        let token = subscription["endpoint"] ?? "https://localhost/wp/none"
        let body: JSONValue = [
            "userId": .string(user), "token": token, "platform": "web", "provider": "webpush",
            "permission": "granted", "subscription": .object(subscription),
        ]
        return String(decoding: JSONWriter.canonicalBytes(of: body), as: UTF8.self)
    }

    /// A worker with padel's own catalogue and a sandbox of browsers at its other end.
    private func withPadel(_ body: @escaping @Sendable (Rig, ProviderSandbox) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("browsers"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            let senders = try Self.senders(for: sandbox, in: folder)
            try await Bench.withTopology(catalogs: try Bench.shipped { $0 == "padel.json5" }) { bench in
                try await Rig.on(bench, outfit: Rig.Outfit(senders: senders.senders)) { try await body($0, sandbox) }
            }
            await senders.close()
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private static func senders(for sandbox: ProviderSandbox, in folder: URL) throws -> PushSenders {
        // A secret that RFC 8291 publishes; it guards nothing.
        let secret = Data("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94".utf8)
        try secret.write(to: folder.appendingPathComponent("vapid.txt"))
        let text = """
            { padel: { webpush: {
              subject: "mailto:ops@example.com", keys: [{id: "main", privateKeyFile: "vapid.txt"}],
              allowedHosts: ["localhost"], endpointPort: \(sandbox.address.port), caFile: "\(sandbox.caFile)",
              allowPrivateAddresses: true,
            } } }
            """
        let file = folder.appendingPathComponent("providers.json5")
        try Data(text.utf8).write(to: file)
        return try PushSenders(
            ProviderConfiguration.read(file: file.path),
            surroundings: .init(logger: Logger(label: "push", level: .error, sink: StandardErrorSink(form: .text)))
        )
    }
}
