import BellhopJSON
import BellhopRules
import Foundation
import IntegrationSupport
import TestSupport
import Testing

@Suite(
    "Inbox routes",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct InboxRouteTests {
    @Test("items have the fields of the push under the same names, and null for absent ones")
    func pushFields() async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            try await api.notify(2)
            _ = try await api.servers.owner.run(
                """
                UPDATE inbox SET target_id = 'tx_7', metadata = '{"matchId":"m1"}', venue_id = '42',
                    extras = '{"imageUrl":"https://example.com/a.png","expiresAt":"2099-01-02T03:04:05.000Z"}'
                WHERE id = (SELECT max(id) FROM inbox)
                """
            )
            let items = try #require(try await api.call("GET", "/api/notifications")["data"]?.array)
            let (full, bare) = (try #require(items.first), try #require(items.last))
            #expect(full["targetId"] == "tx_7" && full["metadata"] == ["matchId": "m1"])
            #expect(full["venueId"] == "42" && full["venue_id"] == "42")
            #expect(full["imageUrl"] == "https://example.com/a.png" && full["expiresAt"] == "2099-01-02T03:04:05.000Z")
            #expect(bare["metadata"] == [:])
            try await expectCanonical(api)
            for name in ["targetId", "venueId", "venue_id", "imageUrl", "expiresAt"] {
                #expect(bare[name] == .some(.null), "\(name)")
            }
        }
    }

    @Test("data that another program has stored is sent in canonical form, or is empty if it is not an object")
    func foreignData() async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            for (stored, sent) in [(#" {"b": 1, "a": "\u00e5"}"#, #"{"a":"å","b":1}"#), ("[1]", "{}"), ("{", "{}")] {
                _ = try await api.servers.owner.run(
                    "UPDATE inbox SET data = $1, metadata = $1, extras = $1",
                    [.text(stored)]
                )
                let answer = try await api.call("GET", "/api/notifications")
                let (data, metadata) = ("\"data\":\(sent),", "\"metadata\":\(sent),")
                #expect(answer.text.contains(data) && answer.text.contains(metadata))
                try await expectCanonical(api)
            }
        }
    }

    /// Expects the members of the list in their canonical order.
    private func expectCanonical(_ api: APIFixture) async throws {
        let answer = try await api.call("GET", "/api/notifications")
        let written = JSONWriter.canonicalBytes(of: try #require(answer.json))
        #expect(answer.text == String(decoding: written, as: UTF8.self))
    }

    @Test("a tag filters the list by its types, also next to types and unread, and an unknown tag is rejected")
    func tags() async throws {
        let types = "types: {"
        let tags = #"tags: { money: { nb: "Penger" }, new: { nb: "Nytt" } }, types: {"#
        let text = try ServerFixture.changed("drop", replacing: types, with: tags)
            .replacing(#"label: { nb: "QR-betalinger" },"#, with: #"label: { nb: "QR" }, tags: ["money", "new"],"#)
            .replacing(#"label: { nb: "Overføringer" },"#, with: #"label: { nb: "O" }, tags: ["money"],"#)
        let catalogs = try CatalogSet.load(files: [("drop.json5", Array(text.utf8))]).get()
        try await APIFixture.with(catalogs: catalogs) { api in
            let transfer = try await api.notify(1)
            let payment = try await api.notify(2, type: "qr_payment")
            let other = try await api.notify(3, type: "system")
            _ = try await api.call("PATCH", "/api/notifications", #"{"notificationIds":["\#(transfer)"]}"#)
            let list = "/api/notifications"
            #expect(try await api.ids(list) == [other, payment, transfer])
            #expect(try await api.ids("\(list)?tag=money") == [payment, transfer])
            #expect(try await api.ids("\(list)?tag=new") == [payment])
            #expect(try await api.ids("\(list)?tag=money&unread=true") == [payment])
            #expect(try await api.ids("\(list)?tag=money&types=system,transaction_complete") == [transfer])
            #expect(try await api.ids("\(list)?tag=new&types=system") == [])
            _ = try await api.call("PATCH", list, #"{"notificationIds":["\#(payment)"],"state":"archived"}"#)
            #expect(try await api.ids("\(list)?tag=money&state=archived") == [payment])
            #expect(try await api.call("GET", "\(list)?tag=money")["lastEventId"] == .some(.null))
            for tag in ["Money", "", "money,new", "a.b"] {
                let answer = try await api.call("GET", "\(list)?tag=\(tag)")
                #expect(answer.status == 422 && answer.field == "tag", "\(tag)")
            }
            let catalog = try await api.call("GET", "/api/catalog")
            #expect(
                catalog["tags"] == [["tag": "money", "label": "Penger"], ["tag": "new", "label": "Nytt"]]
            )
            let own = catalog["types"]?.array?.map { $0["tags"] ?? .null }
            #expect(own == [["money"], ["money", "new"], [], [], [], []])
        }
    }

    @Test("an item has its type's buttons in the user's language, and no such member without any")
    func actions() async throws {
        let key = #"label: { nb: "QR-betalinger" },"#
        let button =
            #"actions: [{ label: { nb: "Se {amount}", en: "See {amount}" }, link: { web: "/a", mobile: "/b" } }],"#
        let catalogs = try ServerFixture.shipped("drop", replacing: key, with: key + button)
        try await APIFixture.with(catalogs: catalogs) { api in
            try await api.notify(1)
            try await api.notify(2, type: "qr_payment", priority: "high")
            for (locale, label) in [("sv", "Se 1 kr"), ("en", "See 1 kr")] {
                _ = try await api.call("PATCH", "/api/settings", #"{"locale":"\#(locale)"}"#)
                let page = try await api.call("GET", "/api/notifications")
                let expected: JSONValue = [["label": .string(label), "link": ["web": "/a", "mobile": "/b"]]]
                #expect(page["data"]?.array?.map { $0["actions"] } == [expected, nil])
                #expect(page["pinned"]?.array?.map { $0["actions"] } == [expected])
                try await expectCanonical(api)
                let other = try await api.call("GET", "/api/notifications?unread=true&types=qr_payment")
                #expect(other["data"]?.array?.map { $0["actions"] } == [expected])
            }
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                let id = try await api.arrive(3, type: "qr_payment")
                try await api.announce()
                try await eventually { reader.arrived == [id] }
                #expect(reader.events.last?.data["actions"]?.array?.first?["label"] == "See 1 kr")
            }
        }
    }

    @Test("an item has all members that a list shows")
    func item() async throws {
        try await APIFixture.with { api in
            let id = try await api.notify(1)
            let answer = try await api.call("GET", "/api/notifications")
            #expect(answer.status == 200)
            let item = try #require(answer["data"]?.array?.first)
            #expect(item["id"] == .string(id))
            #expect(item["title"] == "Tittel 1")
            #expect(item["read"] == false && item["seen"] == false && item["archived"] == false)
            #expect(item["link"] == ["web": "/transactions/1", "mobile": "/tx/1"])
            #expect(item["data"] == ["amount": "1 kr"])
            let look = api.servers.catalogs.catalogs.first { $0.app.text == "drop" }?.types.first
            #expect(item["icon"]?.string == look?.icon)
            #expect(item["createdAt"]?.string?.count == 24)
            #expect(answer["unreadCount"] == 1)
            #expect(answer["next"] == .some(.null))
        }
    }

    @Test("pages have no gaps or repeats while new notifications arrive")
    func paging() async throws {
        try await APIFixture.with { api in
            for number in 1...25 { try await api.notify(number) }
            var seen: [String] = []
            var path = "/api/notifications?limit=10"
            for round in 0..<3 {
                let answer = try await api.call("GET", path)
                seen += (answer["data"]?.array ?? []).compactMap { $0["id"]?.string }
                try await api.notify(100 + round)
                guard let next = answer["next"]?.string else { break }
                path = "/api/notifications?limit=10&before=\(next)"
            }
            #expect(seen == (1...25).reversed().map(APIFixture.id))
            let last = try await api.call("GET", path)
            #expect(last["next"] == .some(.null))
        }
    }

    @Test("a list filters by unread, type and state, and its first page pins unread notifications of high priority")
    func choices() async throws {
        try await APIFixture.with { api in
            let security = try await api.notify(1, type: "security", priority: "high")
            let old = try await api.notify(2, type: "security", priority: "high")
            for number in 3...30 { try await api.notify(number) }
            _ = try await api.call("PATCH", "/api/notifications", #"{"notificationIds":["\#(old)"]}"#)
            let first = try await api.call("GET", "/api/notifications?limit=5")
            let pinned = first["pinned"]?.array?.compactMap { $0["id"]?.string }
            #expect(pinned == [security])
            let next = try #require(first["next"]?.string)
            let second = try await api.call("GET", "/api/notifications?before=\(next)")
            #expect(second["pinned"] == [])
            #expect(try await api.ids("/api/notifications?types=security,system") == [old, security])
            #expect(try await api.ids("/api/notifications?types=security&unread=true") == [security])
            _ = try await api.call(
                "PATCH",
                "/api/notifications",
                #"{"notificationIds":["\#(old)"],"state":"archived"}"#
            )
            #expect(try await api.ids("/api/notifications?state=archived") == [old])
            #expect(try await api.ids("/api/notifications?types=security") == [security])
        }
    }

    @Test("notifications are marked read if no state is given, and only actual changes are counted")
    func reading() async throws {
        try await APIFixture.with { api in
            let ids = [try await api.notify(1), try await api.notify(2)]
            try await api.notify(3, for: "bob")
            let body = #"{"notificationIds":["\#(ids[0])","\#(APIFixture.id(3))","\#(APIFixture.id(9))"]}"#
            #expect(try await api.call("PATCH", "/api/notifications", body)["updated"] == 1)
            #expect(try await api.call("PATCH", "/api/notifications", body)["updated"] == 0)
            #expect(try await api.unread() == 1)
            #expect(try await api.unread("bob") == 1)
            let unread = #"{"notificationIds":["\#(ids[0])"],"state":"unread"}"#
            #expect(try await api.call("PATCH", "/api/notifications", unread)["updated"] == 1)
            let seen = #"{"all":true,"state":"seen"}"#
            // A notification that was read has been seen.
            #expect(try await api.call("PATCH", "/api/notifications", seen)["updated"] == 1)
            #expect(try await api.unread() == 2)
            #expect(try await api.call("PATCH", "/api/notifications", #"{"all":true}"#)["updated"] == 2)
            #expect(try await api.unread() == 0)
            #expect(try await api.unread("bob") == 1)
        }
    }

    @Test("a change of the unread count updates the badge of other devices", arguments: ["read", "archived"])
    func badges(state: String) async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            let asked = "SELECT count(*) FROM badge_updates WHERE user_id = 'ada'"
            _ = try await api.call("PATCH", "/api/notifications", #"{"all":true,"state":"seen"}"#)
            #expect(try await api.servers.count(asked) == 0)
            _ = try await api.call("PATCH", "/api/notifications", #"{"all":true,"state":"\#(state)"}"#)
            #expect(try await api.servers.count(asked) == 1)
            #expect(try await api.unread() == 0)
        }
    }

    @Test("an archived notification leaves the list and the count, and returns to its place when unarchived")
    func archiving() async throws {
        try await APIFixture.with { api in
            let ids = [try await api.notify(1), try await api.notify(2)]
            _ = try await api.call("PATCH", "/api/notifications", #"{"all":true,"state":"archived"}"#)
            #expect(try await api.ids("/api/notifications") == [])
            #expect(try await api.unread() == 0)
            #expect(try await api.ids("/api/notifications?state=archived") == ids.reversed())
            let body = #"{"notificationIds":["\#(ids[0])"],"state":"unarchived"}"#
            #expect(try await api.call("PATCH", "/api/notifications", body)["updated"] == 1)
            #expect(try await api.ids("/api/notifications") == [ids[0]])
        }
    }

    @Test("a snoozed notification is hidden until its time, then appears unread at the top")
    func snoozing() async throws {
        try await APIFixture.with { api in
            let ids = [try await api.notify(1), try await api.notify(2), try await api.notify(3)]
            _ = try await api.call("PATCH", "/api/notifications", #"{"all":true}"#)
            let until = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 3_600))
            let body = #"{"notificationIds":["\#(ids[0])"],"state":"snoozed","until":"\#(until)"}"#
            #expect(try await api.call("PATCH", "/api/notifications", body)["updated"] == 1)
            #expect(try await api.ids("/api/notifications") == [ids[2], ids[1]])
            #expect(try await api.ids("/api/notifications?state=snoozed") == [ids[0]])
            #expect(try await api.unread() == 0)
            _ = try await api.servers.owner.run(
                "UPDATE inbox SET snoozed_until = now() WHERE snoozed_until IS NOT NULL"
            )
            #expect(try await api.ids("/api/notifications") == [ids[0], ids[2], ids[1]])
            #expect(try await api.ids("/api/notifications?state=snoozed") == [])
            #expect(try await api.unread() == 1)
            let first = try await api.call("GET", "/api/notifications?limit=1")
            let next = try #require(first["next"]?.string)
            let behind = try await api.ids("/api/notifications?before=\(next)")
            #expect(behind == [ids[2], ids[1]])
        }
    }

    @Test("a snoozed notification returns to its place when the user moves it back, and a later snooze works again")
    func wokenByHand() async throws {
        try await APIFixture.with { api in
            let ids = [try await api.notify(1), try await api.notify(2)]
            let until = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 3_600))
            let snooze = #"{"notificationIds":["\#(ids[0])"],"state":"snoozed","until":"\#(until)"}"#
            let back = #"{"notificationIds":["\#(ids[0])"],"state":"unarchived"}"#
            for _ in 1...2 {
                #expect(try await api.call("PATCH", "/api/notifications", snooze)["updated"] == 1)
                #expect(try await api.ids("/api/notifications") == [ids[1]])
                #expect(try await api.call("PATCH", "/api/notifications", back)["updated"] == 1)
                #expect(try await api.call("PATCH", "/api/notifications", back)["updated"] == 0)
                #expect(try await api.ids("/api/notifications") == [ids[1], ids[0]])
                #expect(try await api.ids("/api/notifications?state=snoozed") == [])
            }
        }
    }

    @Test("a local time for a snooze means its next occurrence on the user's clock")
    func localSnooze() async throws {
        try await APIFixture.with { api in
            let id = try await api.notify(1)
            _ = try await api.call("PATCH", "/api/settings", #"{"timezone":"Asia/Tokyo"}"#)
            let body = #"{"notificationIds":["\#(id)"],"state":"snoozed","localTime":"07:30"}"#
            #expect(try await api.call("PATCH", "/api/notifications", body)["updated"] == 1)
            let clock = try await api.servers.column(
                "SELECT to_char(snoozed_until AT TIME ZONE 'Asia/Tokyo', 'HH24:MI') FROM inbox"
            )
            #expect(clock == ["07:30"])
        }
    }

    @Test(
        "an invalid change is rejected and changes nothing",
        arguments: [
            (#"{}"#, "notificationIds"), (#"{"notificationIds":"x"}"#, "notificationIds"),
            (#"{"notificationIds":["x"]}"#, "notificationIds/0"), (#"{"all":false}"#, "all"),
            (#"{"all":true,"notificationIds":[]}"#, "all"), (#"{"all":true,"state":"gone"}"#, "state"),
            (#"{"all":true,"state":"snoozed","localTime":"07:30"}"#, "all"),
            (#"{"notificationIds":[],"state":"snoozed"}"#, "until"),
            (#"{"notificationIds":[],"state":"snoozed","until":"2020-01-01T00:00:00Z"}"#, "until"),
            (#"{"notificationIds":[],"state":"snoozed","until":"9999-01-01T00:00:00Z"}"#, "until"),
            (#"{"notificationIds":[],"state":"snoozed","localTime":"25:00"}"#, "localTime"),
            (#"{"all":true,"until":"2030-01-01T00:00:00Z"}"#, "until"), (#"{"all":true,"ids":[]}"#, "ids"),
        ]
    )
    func refused(body: String, field: String) async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            let answer = try await api.call("PATCH", "/api/notifications", body)
            #expect(answer.status == 422)
            #expect(answer.field == field)
            #expect(try await api.unread() == 1)
        }
    }

    @Test("one call marks at most a hundred ids")
    func mostIDs() async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            let ids = (1...101).map { "\"\(APIFixture.id($0))\"" }
            let tooMany = try await api.call(
                "PATCH",
                "/api/notifications",
                "{\"notificationIds\":[\(ids.joined(separator: ","))]}"
            )
            #expect(tooMany.status == 422)
            #expect(try await api.unread() == 1)
            let most = ids.dropLast().joined(separator: ",")
            #expect(
                try await api.call("PATCH", "/api/notifications", "{\"notificationIds\":[\(most)]}")["updated"] == 1
            )
        }
    }

    @Test(
        "an invalid query is rejected",
        arguments: [
            ("limit=0", 422), ("limit=101", 422), ("limit=x", 422), ("unread=yes", 422), ("types=", 422),
            ("state=gone", 422), ("before=x", 400), ("before=AAAAAAAAAAAAAAAAAAAAAA&limit=1", 200), ("page=2", 422),
            ("limit=1&limit=2", 422), ("access_token=x", 422),
        ]
    )
    func badQuery(query: String, status: Int) async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("GET", "/api/notifications?\(query)")
            #expect(answer.status == status)
        }
    }
}
