import BellhopRules
import IntegrationSupport
import Sandbox
import TestSupport
import Testing

@Suite(
    "Bursts and caps",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct BurstTests {
    private static let key = #","collapseKey":"k""#

    @Test("of several events within the window, the first is sent immediately, and the newest at the window's end")
    func burst() async throws {
        let catalogs = try ServerFixture.shipped(
            "drop",
            replacing: "    transaction_complete: {",
            with: #"    transaction_complete: { burst: { window: "1h" },"#
        )
        try await ProviderPeer.run(catalogs: catalogs) { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "t1")])
            for (place, event) in ["e1", "e2", "e3"].enumerated() {
                try await peer.publish([event], to: ["u1"], more: Self.key)
                try await pipeline.wait(for: place + 1, "SELECT count(*) FROM deliveries")
            }
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            #expect(
                try await peer.fates() == [
                    "e1|u1|android|delivered", "e2|u1|android|deferred|burst", "e3|u1|android|deferred|burst",
                ]
            )
            let ends = "SELECT count(DISTINCT due_at) FROM deliveries WHERE state = 'deferred'"
            #expect(try await pipeline.servers.count(ends) == 1)
            _ = try await pipeline.servers.owner.run(
                "UPDATE deliveries SET due_at = now() WHERE state = 'deferred'",
                []
            )
            try await peer.waitUntilSettled(3)
            #expect(
                try await peer.fates() == [
                    "e1|u1|android|delivered", "e2|u1|android|suppressed|superseded", "e3|u1|android|delivered",
                ]
            )
        }
    }

    @Test("events beyond the cap of low priority are gathered for the digest")
    func cap() async throws {
        let text = try ServerFixture.changed(
            "drop",
            replacing: "  digest: {",
            with: "  cap: { perHour: 2 },\n  digest: {"
        )
        let uncollected = text.replacing(#"      priority: "low","#, with: #"      priority: "low", digest: false,"#)
        let catalogs = try CatalogSet.load(files: [("drop.json5", Array(uncollected.utf8))]).get()
        try await ProviderPeer.run(catalogs: catalogs) { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "t1")])
            try await peer.feed("u1", #""preferences":{"eventToggles":{"promotional":true}}"#)
            for (place, event) in ["e1", "e2", "e3"].enumerated() {
                try await peer.publish([event], to: ["u1"], type: "promotional")
                try await pipeline.wait(for: place + 1, "SELECT count(*) FROM deliveries")
            }
            try await peer.waitUntilSettled(2)
            let waiting = "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND reason = 'digest'"
            #expect(try await pipeline.servers.count(waiting) == 1)
        }
    }
}
