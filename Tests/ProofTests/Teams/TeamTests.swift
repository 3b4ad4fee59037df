import BellhopJSON
import Foundation
import IntegrationSupport
import Postgres
import Sandbox
import TestSupport
import Testing

/// Each app's team, from the program that it has today to the notification that its user sees.
@Suite(
    "Teams connect what they have",
    .limitedProofConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofProof)
)
struct TeamTests {
    @Test("padel: a Supabase user registers an iPhone, and an edge function posts a CloudEvent")
    func supabase() async throws {
        try await TeamStage.with(.supabase("padel")) { team in
            let ada = "8f3f6d3c-2f0c-4a39-9d0e-2f6ec1f0a6b1"
            let phone = String(repeating: "a1", count: 32)
            try await team.call(
                "POST",
                "/api/push-token",
                #"{"token":"\#(phone)","platform":"ios","provider":"apns","permission":"granted"}"#,
                as: ada
            )
            let event = #"""
                {"specversion": "1.0", "id": "poll-7", "source": "/functions/poll", "type": "availability_poll_reminder",
                 "data": {"to": {"user": "\#(ada)"}, "title": "Kan du spela?", "body": "Svara senast fredag."}}
                """#
            let answer = try await team.publish(event, "Content-Type: application/cloudevents+json")
            #expect(answer == ["accepted": 1])
            let push = try await team.push(.apns, to: phone)
            #expect(push.body["aps"]?["alert"]?["title"] == "Kan du spela?")
            #expect(push.body["route"] == "/schedule")
            let item = try await team.item("Kan du spela?", of: ada)
            #expect(item["id"] == push.body["notificationId"])
        }
    }

    @Test("venues: a Firebase user follows a venue, and a cloud function posts its offer")
    func firebase() async throws {
        try await TeamStage.with(.firebase("venues")) { team in
            let bo = "Zb1kS0vQHfWmP3y7nCqXa2LrT8J2"
            try await team.call("POST", "/api/push-token", #"{"token":"bo-phone","platform":"android"}"#, as: bo)
            try await team.call("PUT", "/api/follows/venue:42", as: bo)
            try await team.publish(
                #"{"venueId": "42", "data": {"venue": "Tim Wendelboe", "offer": "Two cups for one"}}"#,
                "Content-Type: application/json",
                "ce-specversion: 1.0",
                "ce-id: offer-1",
                "ce-source: /functions/offers",
                "ce-type: opportunity"
            )
            let push = try await team.push(.fcm, to: "bo-phone")
            #expect(push.body["message"]?["notification"]?["title"] == "Tim Wendelboe starts a sale")
            #expect(push.body["message"]?["data"]?["venueId"] == "42")
            let item = try await team.item("Tim Wendelboe starts a sale", of: bo)
            #expect(item["link"]?["mobile"] == "/venues/42")
        }
    }

    @Test("safe: a service writes its own events to its outbox, and owner and observer get what their roles allow")
    func outbox() async throws {
        try await PublisherFixture.with { publisher in
            try await TeamStage.with(.own("safe")) { team in
                let joint = team.stage.servers.database.contains("?") ? "&" : "?"
                let search = try await publisher.application.run("SHOW search_path").text(0, 0)
                let url = "\(team.stage.servers.database)\(joint)options=-csearch_path%3D\(search)"
                _ = try await team.stage.relay(["BELLHOP_RELAY_URL": url])
                let topic = "safe:1:0xa1"
                for (user, role) in [("olga", "owner"), ("otto", "observer")] {
                    let phone = #"{"token":"\#(user)-phone","platform":"android"}"#
                    try await team.call("POST", "/api/push-token", phone, as: user)
                    try await publisher.publish(
                        #"{"app":"safe","eventType":"follow.added","userId":"\#(user)","topic":"\#(topic)","role":"\#(role)"}"#,
                        key: user
                    )
                }
                try await eventually("both follow", atMost: .proof) { try await team.stage.count("follows") == 2 }
                // A user who turns the Safe off and on again keeps the role.
                try await team.call("DELETE", "/api/follows/\(topic)", as: "olga")
                try await team.call("PUT", "/api/follows/\(topic)", as: "olga")
                // The Safe service's own event, with the two names that an outbox row needs.
                try await publisher.publish(
                    #"""
                    {"app": "safe", "eventType": "transaction-service", "type": "PENDING_MULTISIG_TRANSACTION",
                     "chainId": "1", "address": "0xA1", "safeTxHash": "0x9f"}
                    """#,
                    key: "0xA1"
                )
                let push = try await team.push(.fcm, to: "olga-phone")
                #expect(push.body["message"]?["data"]?["title"] == "Confirmation required")
                _ = try await team.item("Confirmation required", of: "olga")
                try await team.wait(for: "fanouts WHERE state = 'finished'")
                let reached = Set(team.sandbox.received(.fcm).compactMap(\.token))
                #expect(reached == ["olga-phone"])
                let event = "PENDING_MULTISIG_TRANSACTION:1:0xA1:0x9f"
                let why = try await team.stage.bellhop(
                    "explain",
                    "--app",
                    "safe",
                    "--user",
                    "otto",
                    "--event",
                    event,
                    "--json"
                )
                #expect(why.contains("the user follows as observer"), "\(why)")
            }
        }
    }

    @Test(
        "drop: the Expo app of the guide registers, and a service posts a payment as plain JSON",
        .enabled(if: BrowserProgram.isThere, "needs chromium and chromedriver")
    )
    func expo() async throws {
        try await TeamStage.with(.own("drop")) { team in
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.go(to: team.origin)
                let app = try ExpoExample.script(at: team.origin, token: team.issuer.token("ada"))
                let registered = try await browser.run(
                    "\(app)\nreturn register(true).then(() => ({ kept: kept.get('pushToken'), channels: system.channels }));"
                )
                #expect(registered["kept"] == "ExponentPushToken[first]")
                try await team.publish(
                    #"{"id": "tx-1", "eventType": "transaction_complete", "to": {"user": "ada"}, "targetId": "tx_1", "title": "Overføring fullført", "body": "2 000 kr"}"#
                )
                let push = try await team.push(.expo, to: "ExponentPushToken[first]")
                let channels = (registered["channels"]?.array ?? []).compactMap { $0.array?.first }
                let channel = try #require(push.body["channelId"])
                #expect(channels.contains(channel), "the app has created the channel of the push")
                let item = try await team.item("Overføring fullført", of: "ada")
                #expect(item["id"] == push.body["data"]?["notificationId"])
                try await browser.go(to: "about:blank")
            }
        }
    }

    @Test(
        "drop: a browser in Manila reports its clock, and quiet hours and times of the page follow it",
        .enabled(if: BrowserProgram.isThere, "needs chromium and chromedriver")
    )
    func manila() async throws {
        try await TeamStage.with(.own("drop")) { team in
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.tell("Emulation.setTimezoneOverride", ["timezoneId": "Asia/Manila"])
                try await browser.go(to: "\(team.origin)/#token=\(try team.issuer.token("ada"))")
                try await eventually("the page has reported its clock", atMost: .proof) {
                    try await team.call("GET", "/api/settings", as: "ada")["timezone"] == "Asia/Manila"
                }
                let phone = #"{"token":"ada-phone","platform":"android"}"#
                try await team.call("POST", "/api/push-token", phone, as: "ada")
                // Manila is eight hours ahead of UTC all year. It is a quiet hour there, and none in Oslo, the
                // catalogue's zone.
                let hour = (Int(Date().timeIntervalSince1970) / 3_600 + 8) % 24
                let quiet = #"{"enabled": true, "startHour": \#(hour), "endHour": \#((hour + 3) % 24)}"#
                try await team.call("PATCH", "/api/preferences", #"{"quietHours": \#(quiet)}"#, as: "ada")
                try await team.publish(
                    #"{"id": "tx-2", "eventType": "transaction_complete", "to": {"user": "ada"}, "targetId": "tx_2", "title": "Overføring fullført", "body": "450 kr"}"#
                )
                let item = try await team.item("Overføring fullført", of: "ada")
                let created = try #require(item["createdAt"]?.string.flatMap(Self.instant))
                let clock = Date(timeIntervalSince1970: created + 8 * 3_600).ISO8601Format().dropFirst(11).prefix(5)
                var time: String?
                try await eventually("the page shows the notification", atMost: .proof) {
                    let inbox = "document.querySelector('bellhop-inbox').shadowRoot"
                    time = try await browser.run("return \(inbox)?.querySelector('.time')?.textContent ?? null").string
                    return time != nil
                }
                #expect(time?.hasSuffix(String(clock)) == true, "\(time ?? "") is not \(clock)")
                let words = ["explain", "--app", "drop", "--user", "ada", "--event", "tx-2", "--json"]
                var answer = ""
                try await eventually("the push waits for the end of the quiet hours", atMost: .proof) {
                    answer = try await team.stage.run(Program.bellhop, words)
                    return answer.contains("waits for the end of the user's quiet hours")
                }
                #expect(answer.contains("Asia/Manila"), "\(answer)")
                #expect(team.sandbox.received(.fcm).isEmpty)
                try await browser.tell("Emulation.setTimezoneOverride", ["timezoneId": ""])
                try await browser.go(to: "about:blank")
            }
        }
    }

    private static func instant(_ text: String) -> Double? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")))
            .timeIntervalSince1970
    }
}
