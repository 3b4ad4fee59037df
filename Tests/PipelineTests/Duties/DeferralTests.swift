import BellhopRules
import Foundation
import IntegrationSupport
import Pipeline
import ServiceRuntime
import TestSupport
import Testing

@Suite(
    "Deferred deliveries",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DeferralTests {
    /// Returns the settings of a user who is in quiet hours now and for the next hours.
    private static func quietNow() -> String {
        let hour = Int(SystemTime().now().microseconds / 3_600_000_000 % 24)
        let hours = #""quietHours":{"enabled":true,"startHour":\#(hour),"endHour":\#((hour + 3) % 24)}"#
        return #"{"userId":"u1","timezone":"UTC","preferences":{\#(hours)}}"#
    }

    /// Returns the ledger as text, one line for each delivery.
    private static func ledger(_ peer: ProviderPeer) async throws -> [String?] {
        try await peer.pipeline.servers.column(
            "SELECT concat_ws('|', user_id, state, reason) FROM deliveries ORDER BY user_id, notification_id, target"
        )
    }

    private static func feed(_ peer: ProviderPeer, _ words: String, _ kind: String, until sql: String)
        async throws
    {
        let pipeline = peer.pipeline
        try await pipeline.publish([pipeline.event(words, key: "drop.\(kind)")])
        try await pipeline.wait(for: 1, sql)
    }

    @Test("a push in quiet hours waits for their end, and the rules run again when it is due")
    func quietHours() async throws {
        try await ProviderPeer.run { peer in
            let servers = peer.pipeline.servers
            try await peer.register([("u1", "t1")])
            try await Self.feed(
                peer,
                Self.quietNow(),
                "recipient.upserted",
                until: "SELECT count(*) FROM notification_preferences"
            )
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.pipeline.wait(
                for: 1,
                """
                SELECT count(*) FROM deliveries WHERE state = 'deferred' AND reason = 'quiet-hours'
                AND due_at > now() + interval '1 hour' AND due_at <= now() + interval '3 hours'
                AND extract(minute FROM due_at) = 0 AND extract(second FROM due_at) = 0
                """
            )
            // It is due while quiet hours last: it is deferred again, and nothing is sent.
            _ = try await servers.owner.run("UPDATE deliveries SET due_at = now()", [])
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND due_at > now() + interval '1 hour'"
            )
            #expect(peer.sandbox.received(.fcm).isEmpty)
            try await Self.feed(
                peer,
                #"{"userId":"u1","preferences":{"quietHours":{"enabled":false}}}"#,
                "recipient.upserted",
                until:
                    "SELECT count(*) FROM notification_preferences WHERE preferences -> 'quietHours' ->> 'enabled' = 'false'"
            )
            _ = try await servers.owner.run("UPDATE deliveries SET due_at = now()", [])
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|delivered|1"])
            #expect(peer.sandbox.received(.fcm).count == 1)
        }
    }

    @Test("a device registered while a push waits gets it too, and one registered after the send does not")
    func lateDevices() async throws {
        try await ProviderPeer.run { peer in
            let servers = peer.pipeline.servers
            try await peer.register([("u1", "t1")])
            try await Self.feed(
                peer,
                Self.quietNow(),
                "recipient.upserted",
                until: "SELECT count(*) FROM notification_preferences"
            )
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'deferred'")
            try await peer.register("u1", "android", token: "t2")
            try await peer.pipeline.wait(
                for: 2,
                "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND due_at = (SELECT min(due_at) FROM deliveries)"
            )
            try await Self.feed(
                peer,
                #"{"userId":"u1","preferences":{"quietHours":{"enabled":false}}}"#,
                "recipient.upserted",
                until:
                    "SELECT count(*) FROM notification_preferences WHERE preferences -> 'quietHours' ->> 'enabled' = 'false'"
            )
            _ = try await servers.owner.run("UPDATE deliveries SET due_at = now()", [])
            try await peer.waitUntilSettled(2)
            #expect(peer.arrivals.values.sorted() == [2], "one notification, on two devices")
            try await peer.register("u1", "android", token: "t3")
            let lines = try await servers.count("SELECT count(*) FROM deliveries")
            #expect(lines == 2)
        }
    }

    @Test("a notification that the user has read, or that a later one has replaced by its collapse key, is not pushed")
    func overtaken() async throws {
        try await ProviderPeer.run { peer in
            let servers = peer.pipeline.servers
            try await peer.register([("u1", "t1")])
            try await Self.feed(
                peer,
                Self.quietNow(),
                "recipient.upserted",
                until: "SELECT count(*) FROM notification_preferences"
            )
            try await peer.publish(["old"], to: ["u1"], more: #","collapseKey":"score""#)
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
            try await peer.publish(["new"], to: ["u1"], more: #","collapseKey":"score""#)
            try await peer.publish(["read"], to: ["u1"])
            try await peer.pipeline.wait(for: 3, "SELECT count(*) FROM deliveries WHERE state = 'deferred'")
            _ = try await servers.owner.run("UPDATE notifications SET read_at = now() WHERE event_id = 'read'", [])
            _ = try await servers.owner.run(
                "UPDATE notification_preferences SET preferences = jsonb_set(preferences, '{quietHours,enabled}', 'false')",
                []
            )
            _ = try await servers.owner.run("UPDATE deliveries SET due_at = now()", [])
            try await peer.waitUntilSettled(3)
            let words = try await servers.column(
                """
                SELECT concat_ws('|', n.event_id, d.state, d.reason)
                FROM deliveries d JOIN notifications n ON n.id = d.notification_id ORDER BY 1
                """
            )
            #expect(words == ["new|delivered", "old|suppressed|superseded", "read|suppressed|already-read"])
            #expect(peer.sandbox.received(.fcm).count == 1)
        }
    }

    @Test("an event that expires before the end of quiet hours does not wait for it")
    func expiryBeatsWaiting() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            try await Self.feed(
                peer,
                Self.quietNow(),
                "recipient.upserted",
                until: "SELECT count(*) FROM notification_preferences"
            )
            let soon = Timestamp(clamping: SystemTime().now().microseconds + 1_800_000_000)
            try await peer.publish(["e1"], to: ["u1"], more: #","expiresAt":"\#(soon)""#)
            try await peer.waitUntilSettled(1)
            #expect(try await Self.ledger(peer) == ["u1|expired|expired-before-sending"])
        }
    }

    @Test("a push in a pause waits for its end, and is delivered once when the user ends the pause early")
    func pause() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            let end = Timestamp(clamping: SystemTime().now().microseconds + 7_200_000_000)
            try await peer.feed(
                "u1",
                #""preferences":{"pausedUntil":"\#(end)"}"#,
                until: "p.preferences ? 'pausedUntil'"
            )
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.pipeline.wait(
                for: 1,
                """
                SELECT count(*) FROM deliveries
                WHERE state = 'deferred' AND reason = 'paused' AND due_at > now() + interval '1 hour'
                """
            )
            #expect(peer.sandbox.received(.fcm).isEmpty)
            // A document of a program that does not know pauses ends none.
            try await peer.feed(
                "u1",
                #""preferences":{"quietHours":{"startHour":21}}"#,
                until: "p.preferences -> 'quietHours' ->> 'startHour' = '21'"
            )
            #expect(try await Self.ledger(peer) == ["u1|deferred|paused"])
            try await peer.feed(
                "u1",
                #""preferences":{"pausedUntil":null}"#,
                until: "NOT p.preferences ? 'pausedUntil'"
            )
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|delivered|1"])
            #expect(peer.sandbox.received(.fcm).count == 1)
        }
    }

    @Test("a push that is released from a pause into quiet hours waits for their end")
    func pauseIntoQuietHours() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            let end = Timestamp(clamping: SystemTime().now().microseconds + 86_400_000_000)
            try await peer.feed(
                "u1",
                ProviderPeer.quietNow(#","pausedUntil":"\#(end)""#),
                until: "p.preferences ? 'pausedUntil'"
            )
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE reason = 'paused'")
            try await peer.feed(
                "u1",
                ProviderPeer.quietNow(#","pausedUntil":null"#),
                until: "NOT p.preferences ? 'pausedUntil'"
            )
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND reason = 'quiet-hours'"
            )
            #expect(peer.sandbox.received(.fcm).isEmpty)
        }
    }
}
