import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import Testing

/// Users, their devices and their actions.
extension ProviderPeer {
    /// Registers one device with the usual provider, and waits until it is stored.
    func register(_ user: String, _ platform: String, token: String) async throws {
        let device = #""token":"\#(token)","platform":"\#(platform)","provider":"\#(provider.rawValue)""#
        try await pipeline.publish([
            pipeline.event(#"{"userId":"\#(user)",\#(device)}"#, key: "\(app).subscription.upserted")
        ])
        try await pipeline.wait(for: 1, "SELECT count(*) FROM push_subscriptions WHERE device_token = '\(token)'")
    }

    /// Subscribes a browser, waits until it is stored, and returns its endpoint.
    func subscribeBrowser(_ user: String) async throws -> String {
        let subscription = try sandbox.makeWebPushSubscription()
        let endpoint = try #require(subscription["endpoint"]?.string)
        let body: JSONValue = [
            "userId": .string(user), "token": .string(endpoint), "platform": "web", "provider": "webpush",
            "permission": "granted", "subscription": .object(subscription),
        ]
        let text = String(decoding: JSONWriter.canonicalBytes(of: body), as: UTF8.self)
        try await pipeline.publish([pipeline.event(text, key: "\(app).subscription.upserted")])
        try await pipeline.wait(for: 1, "SELECT count(*) FROM push_subscriptions WHERE device_token = '\(endpoint)'")
        return endpoint
    }

    /// Publishes an update of a user, and waits until it is stored: until `condition` is true for the user's row.
    func feed(_ user: String, _ words: String, until condition: String = "true") async throws {
        try await pipeline.publish([
            pipeline.event(#"{"userId":"\#(user)",\#(words)}"#, key: "\(app).recipient.upserted")
        ])
        try await pipeline.wait(
            for: 1,
            """
            SELECT count(*) FROM recipients r
            LEFT JOIN notification_preferences p ON p.app = r.app AND p.profile_id = r.user_id
            WHERE r.user_id = '\(user)' AND \(condition)
            """
        )
    }

    /// Returns preferences, as text of a feed message, with quiet hours that include the next hours.
    static func quietNow(_ more: String = "") -> String {
        let hour = Int(SystemTime().now().microseconds / 3_600_000_000 % 24)
        let hours = #""quietHours":{"enabled":true,"startHour":\#(hour),"endHour":\#((hour + 6) % 24)}"#
        return #""timezone":"UTC","preferences":{\#(hours)\#(more)}"#
    }

    /// Marks the user's notifications that match `condition` as read.
    ///
    /// Each has a separate statement in one transaction, with the rights of the inbox API.
    func read(_ user: String, where condition: String = "true") async throws {
        let ids = try await pipeline.servers.column(
            "SELECT id FROM notifications WHERE user_id = '\(user)' AND \(condition) ORDER BY id"
        )
        let reading = ids.compactMap { $0 }.map {
            "UPDATE inbox SET read_at = now() WHERE id = notification_number('\($0)');"
        }
        let script = """
            BEGIN;
            SELECT set_config('bellhop.app', '\(app)', true), set_config('bellhop.user', '\(user)', true);
            \(reading.joined(separator: "\n"))
            COMMIT;
            """
        let pool = try ServerFixture.makePool(setUp: pipeline.servers.namespace.setUp(as: .api))
        do {
            try await pool.withConnection { (connection) throws(PostgresError) in try connection.execute(script) }
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }

    /// Returns the ledger as text, one line for each device and mail: event, platform or target, state, reason.
    func fates() async throws -> [String?] {
        try await pipeline.servers.column(
            """
            SELECT concat_ws('|', n.event_id, n.user_id, coalesce(s.platform, d.target), d.state, d.reason)
            FROM deliveries d
            JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
            LEFT JOIN push_subscriptions s ON s.app = d.app AND s.profile_id = d.user_id AND s.id = d.target
            ORDER BY 1
            """
        )
    }
}
