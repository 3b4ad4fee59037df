import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "Deliveries to browsers",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct BrowserDeliveryTests {
    @Test("a browser that unsubscribed is revoked, one without keys is rejected, and neither affects other browsers")
    func gone() async throws {
        try await ProviderPeer.run(app: "padel") { peer in
            let pipeline = peer.pipeline
            let reader = try await peer.subscribeBrowser("reader")
            let leaver = try await peer.subscribeBrowser("leaver")
            let keyless =
                #""token":"https://localhost/wp/none","platform":"web","provider":"webpush","subscription":{}"#
            try await pipeline.publish([
                pipeline.event(#"{"userId":"keyless",\#(keyless)}"#, key: "padel.subscription.upserted")
            ])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE reason = 'invalid-field'")
            peer.sandbox.endWebPushSubscription(endpoint: leaver)
            try await peer.publish(["e1"], to: ["reader", "leaver", "keyless"], type: "admin_announcement")
            try await peer.waitUntilSettled(3)
            #expect(
                try await peer.fates() == [
                    "e1|keyless|-|suppressed|no-device", "e1|leaver|web|failed|subscription-gone",
                    "e1|reader|web|delivered",
                ]
            )
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'subscription-gone'"
            )
            let taken = peer.sandbox.received(.webpush).filter { $0.answer?.status == 201 }
            #expect(taken.map(\.token) == [reader])
        }
    }
}
