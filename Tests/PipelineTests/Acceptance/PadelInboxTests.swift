import BellhopRules
import Foundation
import IntegrationSupport
import TestSupport
import Testing

/// The calls of the club's clients to the inbox API, and the payload of the club's documentation.
extension PadelAcceptanceTests {
    /// The example of the payload schema, verbatim.
    private static let payload = """
        {
          "eventType": "scheduled_match_new",
          "title": "Ny match i schemat",
          "body": "Tisdag 19:00 på PDL Center.",
          "route": "/schedule",
          "metadata": {
            "matchId": "uuid-or-string"
          },
          "sentAtIso": "2026-02-15T13:45:00.000Z"
        }
        """

    @Test("the documented payload, verbatim, reaches every player, whose app finds each of its members")
    func verbatim() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            try await peer.withInbox { inbox in
                for player in ["anna", "bo"] { try await peer.feed(player, #""locale":"sv""#) }
                let token = String(repeating: "b22b", count: 16)
                try await inbox.register("anna", "ios", token: token, more: #","permission":"granted""#)
                _ = try await peer.subscribeBrowser("bo")
                try await peer.publish("scheduled_match_new", Self.payload)
                try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
                try await peer.waitUntilSettled(2)
                #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
                let apple = try #require(peer.sandbox.received(.apns).first { $0.token == token })
                let web = try #require(peer.sandbox.received(.webpush).first?.body["payload"])
                #expect(apple.refused == nil)
                for client in [apple.body, web] {
                    #expect(client["eventType"] == "scheduled_match_new" && client["type"] == client["eventType"])
                    #expect(client["route"] == "/schedule")
                    #expect(client["metadata"] == ["matchId": "uuid-or-string"])
                    #expect(client["sentAtIso"] == "2026-02-15T13:45:00.000Z")
                }
                #expect(apple.body["aps"]?["alert"]?["title"] == "Ny match i schemat")
                #expect(apple.body["aps"]?["alert"]?["body"] == "Tisdag 19:00 på PDL Center.")
                #expect(web["title"] == "Ny match i schemat" && web["badge"] == nil)
                #expect(try await inbox.titles("anna") == ["Ny match i schemat"])
            }
        }
    }

    @Test("the settings page shows labels in order and stored choices, and a first sign-in never overwrites them")
    func settingsPage() async throws {
        try await ProviderPeer.run(app: "padel", over: .apns) { peer in
            try await peer.withInbox { inbox in
                let catalog = try await inbox.call("GET", "/api/catalog", as: "anna")
                let labels = catalog["types"]?.array?.compactMap { $0["label"]?.string }
                #expect(labels == ["Ny schemalagd match", "Påminnelse om tillgänglighetspoll", "Adminmeddelanden"])
                #expect(catalog["preferences"]?["master"]?["label"] == "Tillåt notiser")
                let hours = try #require(catalog["preferences"]?["quietHours"])
                #expect(hours["enabled"] == false && hours["startHour"] == 22 && hours["endHour"] == 7)
                let local = #"{"enabled":true,"eventToggles":{"admin_announcement":false},"old":1}"#
                let stored = try await inbox.call(
                    "PUT",
                    "/api/preferences",
                    local,
                    as: "anna",
                    headers: ["If-None-Match": "*"]
                )
                #expect(stored["eventToggles"]?["admin_announcement"] == false && stored["old"] == nil)
                let browser = #"{"enabled":false}"#
                let again = try await inbox.call(
                    "PUT",
                    "/api/preferences",
                    browser,
                    as: "anna",
                    headers: ["If-None-Match": "*"],
                    expecting: 412
                )
                #expect(again["error"]?["code"] == "precondition-failed")
                let token = String(repeating: "c33c", count: 16)
                try await inbox.register("anna", "ios", token: token, more: #","permission":"granted""#)
                let words = #""title":"Stängt","body":"Banorna vilar.","to":{"user":"anna"}"#
                try await peer.publish("admin_announcement", #"{"id":"closed",\#(words)}"#)
                try await peer.publish("availability_poll_reminder", #"{"id":"poll",\#(words)}"#)
                try await peer.waitUntilSettled(2)
                #expect(
                    try await peer.fates() == [
                        "closed|anna|-|suppressed|type-muted", "poll|anna|ios|delivered",
                    ]
                )
            }
        }
    }
}
