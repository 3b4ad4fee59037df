import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The payments app: Expo for its phones, Web Push for browsers, and mails for urgent events.
@Suite(
    "Acceptance: drop",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DropAcceptanceTests {
    @Test("texts come from data, security ignores quiet hours, offers stay in the app, and tokens stay unused")
    func phones() async throws {
        try await ProviderPeer.run(app: "drop", over: .expo) { peer in
            let pipeline = peer.pipeline
            let token = peer.token("jasmin-android")
            try await peer.register("jasmin", "android", token: token)
            try await peer.register("off", "android", token: peer.token("off-android"))
            try await peer.feed("off", #""pushEnabled":false"#)
            try await pipeline.publish([
                pipeline.event(
                    """
                    {"id":"tx","to":{"users":["jasmin","off"]},"targetId":"tx_rem_1",
                     "data":{"recipient":"Mama Jasmina","amount":"2 000 kr","country":"Serbia"}}
                    """,
                    key: "drop.transaction_complete"
                ),
                pipeline.event(
                    #"{"id":"offer","to":{"user":"jasmin"},"data":{"offer":"0% gebyr denne uken!"}}"#,
                    key: "drop.promotional"
                ),
            ])
            try await peer.waitUntilAnswered(3)
            let request = try #require(peer.sandbox.received(.expo).first { $0.token == token })
            #expect(request.refused == nil)
            let message = request.body
            #expect(message["title"] == "Overføring til Mama Jasmina fullført")
            #expect(message["body"] == "2 000 kr sendt til Serbia")
            #expect(message["channelId"] == "transactions")
            #expect(message["data"]?["type"] == "transaction_complete")
            #expect(message["data"]?["targetId"] == "tx_rem_1")
            #expect(message["data"]?["link"] == "/transactions?id=tx_rem_1")
            try await peer.feed("jasmin", ProviderPeer.quietNow(), until: "p.preferences IS NOT NULL")
            try await pipeline.publish([
                pipeline.event(
                    #"{"id":"login","to":{"user":"jasmin"},"data":{"device":"iPhone","place":"Oslo, Norge"}}"#,
                    key: "drop.security"
                )
            ])
            try await peer.waitUntilAnswered(4)
            #expect(peer.sandbox.received(.fcm).isEmpty)
            try await eventually("it is counted") {
                pipeline.metrics.text().contains(#"bellhop_receipts_total{app="drop",outcome="delivered"} 2"#)
            }
            #expect(
                try await peer.fates() == [
                    "login|jasmin|android|delivered", "offer|jasmin|-|suppressed|type-muted",
                    "tx|jasmin|android|delivered", "tx|off|-|suppressed|push-disabled",
                ]
            )
        }
    }

    @Test(
        "a security event reaches phone and browser with sound and badge, and e-mail if enabled; a payment no mail"
    )
    func everywhere() async throws {
        try await ProviderPeer.run(app: "drop", over: .expo) { peer in
            let pipeline = peer.pipeline
            let browser = try await peer.subscribeBrowser("jasmin")
            let phone = peer.token("ola-ios")
            try await peer.register("ola", "ios", token: phone)
            try await peer.feed("jasmin", #""email":"jasmin@example.com","emailEnabled":true"#)
            try await peer.feed("ola", #""email":"ola@example.com","emailEnabled":false"#)
            try await pipeline.publish([
                pipeline.event(
                    """
                    {"id":"login","to":{"users":["jasmin","ola"]},
                     "data":{"device":"iPhone","place":"Oslo, Norge"}}
                    """,
                    key: "drop.security"
                )
            ])
            try await peer.waitUntilAnswered(3)
            try await pipeline.publish([
                pipeline.event(
                    """
                    {"id":"qr","to":{"users":["jasmin","ola"]},"targetId":"tx_qr_1",
                     "data":{"merchant":"Ahmetov Kebab","amount":"129 kr"}}
                    """,
                    key: "drop.qr_payment"
                )
            ])
            try await peer.waitUntilAnswered(5)
            #expect(
                try await peer.fates() == [
                    "login|jasmin|email|delivered", "login|jasmin|web|delivered", "login|ola|ios|delivered",
                    "qr|jasmin|web|delivered", "qr|ola|ios|delivered",
                ]
            )
            let mails = peer.sandbox.received(.email)
            #expect(mails.map(\.token) == ["jasmin@example.com"])
            #expect(mails.first?.body["subject"] == "Ny pålogging fra iPhone")
            let text = try #require(mails.first?.body["text"]?.string)
            #expect(text.contains("Oslo, Norge\n") && text.contains("https://drop.example/profile/security\n"))
            let push = try #require(peer.sandbox.received(.expo).first { $0.token == phone }?.body)
            #expect(push["title"] == "Ny pålogging fra iPhone")
            #expect(push["priority"] == "high" && push["sound"] == "default" && push["badge"] == 1)
            let shown = peer.sandbox.received(.webpush).filter { $0.token == browser }.map { $0.body["payload"] }
            #expect(shown.map { $0?["title"] } == ["Ny pålogging fra iPhone", "QR-betaling hos Ahmetov Kebab"])
            #expect(shown.map { $0?["url"] } == ["/profile/security", "/transactions?id=tx_qr_1"])
            #expect(shown.map { $0?["priority"] } == ["high", "normal"])
        }
    }
}
