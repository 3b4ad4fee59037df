import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "Mails",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct MailTests {
    /// Stores a user with an address and without a device.
    private static func mailbox(_ peer: ProviderPeer, _ user: String, _ more: String = "") async throws {
        try await peer.feed(user, #""email":"\#(user)@example.com"\#(more)"#, until: "r.email IS NOT NULL")
    }

    @Test("a high-priority event is mailed once, however often it arrives, with the notification's id as Message-ID")
    func once() async throws {
        try await ProviderPeer.run { peer in
            try await Self.mailbox(peer, "kari")
            for _ in 1...3 { try await peer.publish(["e1", "e1"], to: ["kari"], type: "security") }
            try await peer.publish(["e2"], to: ["kari"], type: "transaction_complete")
            try await peer.pipeline.waitUntilIdle(events: 8)
            try await peer.waitUntilSettled(3)
            #expect(
                try await peer.fates() == [
                    "e1|kari|-|suppressed|no-device", "e1|kari|email|delivered", "e2|kari|-|suppressed|no-device",
                ]
            )
            let ids = try await peer.pipeline.servers.column(
                """
                SELECT '<' || notification_id || '@drop.example>' || provider_message_id FROM deliveries
                WHERE channel = 'email' AND attempts = 1 AND unknown_sends = 0
                """
            )
            let tag = try #require(peer.sandbox.received(.email).first?.tag)
            #expect(ids == [tag + tag])
            #expect(peer.sandbox.received(.email).count == 1)
        }
    }

    @Test("no mail and no row of it exist if emailEnabled is false, the address is missing, or the user is muted")
    func nobody() async throws {
        let catalogs = try ServerFixture.shipped("drop", replacing: "mandatory: true,", with: "")
        try await ProviderPeer.run(catalogs: catalogs) { peer in
            try await Self.mailbox(peer, "off", #","emailEnabled":false"#)
            try await Self.mailbox(peer, "muted", #","preferences":{"enabled":false}"#)
            try await Self.mailbox(peer, "kari")
            try await peer.publish(["e1"], to: ["off", "muted", "nobody", "kari"], type: "security")
            try await peer.waitUntilSettled(5)
            #expect(
                try await peer.fates() == [
                    "e1|kari|-|suppressed|no-device", "e1|kari|email|delivered", "e1|muted|-|suppressed|muted",
                    "e1|nobody|-|suppressed|no-device", "e1|off|-|suppressed|no-device",
                ]
            )
            #expect(peer.sandbox.received(.email).map(\.token) == ["kari@example.com"])
        }
    }

    @Test("a mail is in its user's language, with a link that ends the mails of this user and no other")
    func language() async throws {
        let nb = #"nb: { title: "Ny pålogging fra {device}", body: "{place}" }"#
        let both = nb + #", en: { title: "New sign-in from {device}", body: "{place}" }"#
        try await ProviderPeer.run(
            catalogs: try ServerFixture.shipped("drop", replacing: nb, with: both)
        ) { peer in
            try await Self.mailbox(peer, "kari", #","locale":"nb-NO""#)
            try await Self.mailbox(peer, "ann", #","locale":"en-GB""#)
            try await peer.pipeline.publish([
                peer.pipeline.event(
                    #"{"id":"e1","to":{"users":["kari","ann"]},"data":{"device":"iPhone","place":"Oslo"}}"#,
                    key: "drop.security"
                )
            ])
            try await peer.waitUntilSettled(4)
            let mails = peer.sandbox.received(.email).sorted { ($0.token ?? "") < ($1.token ?? "") }
            #expect(mails.map { $0.body["subject"] } == ["New sign-in from iPhone", "Ny pålogging fra iPhone"])
            #expect(mails.map { $0.body["headers"]?["content-language"] } == ["en", "nb"])
            let footers = ["Unsubscribe from email notifications", "Meld deg av varsler på e-post"]
            for (mail, words) in zip(mails, footers) {
                #expect(mail.body["text"]?.string?.contains(words) == true)
                #expect(mail.body["html"]?.string?.contains(words) == true)
            }
            let links = mails.compactMap { $0.body["headers"]?["list-unsubscribe"]?.string }
            let subjects = links.map { ProvidersFile.subject(ofLink: String($0.dropFirst().dropLast()), from: "drop") }
            #expect(subjects.map { $0?.user.text } == ["ann", "kari"])
            #expect(subjects.allSatisfy { $0?.app.text == "drop" && $0?.purpose == .allMail })
            let forged = links.map { String($0.dropFirst().dropLast(2)) + "A" }
            #expect(forged.allSatisfy { ProvidersFile.subject(ofLink: $0 + "x", from: "drop") == nil })
        }
    }
}
