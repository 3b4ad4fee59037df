import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

/// The calls of the venue app's clients to the inbox API, and the results.
extension VenuesAcceptanceTests {
    private static func offer(_ peer: ProviderPeer, _ id: String, _ done: Int) async throws {
        let data = #""data":{"venue":"Tim Wendelboe","offer":"Two cups for one"}"#
        try await peer.publish("opportunity", #"{"id":"\#(id)","to":{"topic":"venue:42"},\#(data)}"#)
        try await peer.pipeline.wait(for: done, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
    }

    @Test("a first follow, its token and a refreshed token get pushes; after a log-out the offer is only in the app")
    func lifeOfAToken() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            try await peer.withInbox { inbox in
                try await inbox.call("PUT", "/api/follows/venue:42", as: "ada")
                try await inbox.register("ada", "android", token: "first", more: #","permission":"granted""#)
                let refreshed = #","permission":"granted","replaces":"first""#
                try await inbox.register("ada", "android", token: "second", more: refreshed)
                try await Self.offer(peer, "sale", 1)
                try await peer.waitUntilSettled(1)
                let pushed = peer.sandbox.received(.fcm)
                #expect(pushed.map(\.token) == ["second"])
                let message = try #require(pushed.first?.body["message"])
                #expect(message["data"]?["venueId"] == "42" && message["data"]?["venue_id"] == "42")
                #expect(message["data"]?["route"] == "/venues/42")
                // The event has a low priority in Bellhop, and yet the phone shows it immediately.
                #expect(message["android"]?["priority"] == "HIGH")
                try await inbox.call("DELETE", "/api/push-token", #"{"token":"second"}"#, as: "ada", expecting: 204)
                try await Self.offer(peer, "again", 2)
                try await peer.waitUntilSettled(2)
                #expect(peer.sandbox.received(.fcm).count == 1)
                let page = try await inbox.call("GET", "/api/notifications", as: "ada")
                #expect(page["data"]?.array?.compactMap { $0["venueId"] } == ["42", "42"])
            }
        }
    }

    @Test("a user who denies the permission can follow, and finds the offer in the app without any error")
    func denied() async throws {
        try await ProviderPeer.run(app: "venues") { peer in
            try await peer.withInbox { inbox in
                try await inbox.call("PUT", "/api/follows/venue:42", as: "bo")
                try await inbox.register("bo", "ios", token: "bo-phone")
                let change = #"{"token":"bo-phone","permission":"denied"}"#
                try await inbox.call("PATCH", "/api/push-token", change, as: "bo")
                try await Self.offer(peer, "sale", 1)
                try await peer.waitUntilSettled(1)
                #expect(peer.sandbox.received(.fcm).isEmpty)
                #expect(try await inbox.titles("bo") == ["Tim Wendelboe starts a sale"])
            }
        }
    }
}
