import API
import BellhopJSON
import BellhopRules
import Foundation
import HTTPServer
import IntegrationSupport
import Pipeline
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@Suite(
    "Live streams",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct LiveStreamTests {
    @Test("a stream begins with the unread count and delivers notifications that another process recorded")
    func arrival() async throws {
        try await APIFixture.with { api in
            try await api.notify(1)
            try await api.whileLive {
                let reader = try await api.stream()
                #expect(reader.status == 200)
                #expect(reader.headers["Content-Type"] == "text/event-stream")
                let first = try await reader.wait(for: 1)
                #expect(first[0].kind == "badge")
                #expect(first[0].data == ["unreadCount": 1])
                let id = try await api.arrive(2)
                try await api.announce()
                let event = try #require(try await reader.wait(for: 2).last)
                #expect(event.kind == "notification")
                #expect(event.data["id"] == .string(id))
                #expect(event.data["unreadCount"] == 2)
                let listed = try await api.call("GET", "/api/notifications")["data"]?.array?.first
                let members = try #require(listed?.object?.members)
                let same = members.allSatisfy { event.data[$0.key] == $0.value }
                #expect(same)
            }
        }
    }

    @Test("a stream that follows a list delivers every later notification exactly once")
    func afterList() async throws {
        try await APIFixture.with { api in
            for number in 1...30 { try await api.notify(number) }
            let page = try await api.call("GET", "/api/notifications")
            let cursor = try #require(page["lastEventId"]?.string)
            let missed = [try await api.arrive(31), try await api.arrive(32)]
            try await api.whileLive {
                let reader = try await api.stream(since: cursor)
                _ = try await reader.wait(for: 2)
                #expect(reader.arrived == missed)
                reader.close()
                let later = try await api.arrive(33)
                // A client that received only the first of them gets the second again, and the third.
                let again = try await api.stream(since: reader.events[0].id)
                _ = try await again.wait(for: 2)
                #expect(again.arrived == [missed[1], later])
            }
            let filtered = try await api.call("GET", "/api/notifications?unread=true")
            #expect(filtered["lastEventId"] == .some(.null))
        }
    }

    @Test("a change on one device reaches the user's other devices, with the remaining unread count")
    func marks() async throws {
        try await APIFixture.with { api in
            let ids = [try await api.notify(1), try await api.notify(2), try await api.notify(3)]
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                func mark(_ id: String, _ state: String) async throws {
                    let body = #"{"notificationIds":["\#(id)"],"state":"\#(state)"}"#
                    let answer = try await api.call("PATCH", "/api/notifications", body)
                    #expect(answer.status == 200, "\(answer)")
                }
                try await mark(ids[0], "seen")
                try await mark(ids[1], "read")
                try await eventually { reader.kinds.contains("read") && reader.kinds.contains("state") }
                let read = try #require(reader.events.first { $0.kind == "read" })
                #expect(read.data == ["ids": [.string(ids[1])], "unreadCount": 2])
                let seen = try #require(reader.events.first { $0.kind == "state" })
                #expect(seen.data == ["ids": [.string(ids[0])], "state": "seen"])
                try await mark(ids[2], "archived")
                try await eventually { reader.events.last?.kind == "badge" }
                #expect(reader.events.last?.data == ["unreadCount": 1])
                let gone = reader.events.last { $0.kind == "state" }
                #expect(gone?.data == ["ids": [.string(ids[2])], "state": "archived"])
                try await mark(ids[2], "unarchived")
                try await eventually { reader.events.last { $0.kind == "state" }?.data["state"] == "unarchived" }
            }
        }
    }

    @Test("a changed setting or preference reaches open streams, one that changes nothing does not, and none is missed")
    func settings() async throws {
        try await APIFixture.with { api in
            let page = try await api.call("GET", "/api/notifications")
            let listed = try #require(page["lastEventId"]?.string)
            try await api.whileLive {
                let reader = try await api.stream(since: listed)
                _ = try await api.call("PATCH", "/api/preferences", #"{"enabled":false}"#)
                try await eventually { reader.kinds == ["settings"] }
                _ = try await api.call("PATCH", "/api/preferences", #"{"enabled":false}"#)
                _ = try await api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#)
                try await eventually { reader.kinds == ["settings", "settings"] }
                #expect(reader.events.map(\.data) == [[:], [:]])
                reader.close()
                // The client was away.
                _ = try await api.call("PUT", "/api/preferences", #"{"enabled":true}"#)
                let again = try await api.stream(since: reader.events.last?.id)
                try await eventually { again.kinds == ["settings"] }
                again.close()
                let current = try await api.stream(since: again.events.last?.id)
                let id = try await api.arrive(1)
                try await api.announce()
                try await eventually { current.arrived == [id] }
                #expect(current.kinds == ["notification"])
                // By the app's servers, and by the link of a mail.
                let body = #"{"app":"drop","eventType":"recipient.upserted","userId":"ada","pushEnabled":false}"#
                guard case .feed(let update) = try api.servers.submission(body) else {
                    throw ServerFixtureError("not a feed message")
                }
                let arrival = Timestamp(clamping: SystemTime().timestamp.microseconds + 1_000_000)
                _ = try await WorkerStore(pool: api.servers.pool).apply([FeedEntry(update: update, arrival: arrival)])
                try await api.announce()
                try await eventually { current.kinds == ["notification", "settings"] }
                let app = try #require(AppID(validating: "drop"))
                let user = try #require(UserID(validating: "ada"))
                let token = try APIFixture.unsubscribeLink().token(for: .init(app: app, user: user))
                #expect(try await api.call("POST", "/u/\(token)", as: nil).status == 200)
                try await eventually { current.kinds == ["notification", "settings", "settings"] }
            }
        }
    }

    @Test("unread notifications of a type without a badge are in the list and in no count")
    func uncounted() async throws {
        let key = #"label: { nb: "QR-betalinger" },"#
        let catalogs = try ServerFixture.shipped("drop", replacing: key, with: key + " badge: false,")
        try await APIFixture.with(catalogs: catalogs) { api in
            let counted = try await api.notify(1)
            let other = try await api.notify(2, type: "qr_payment")
            let page = try await api.call("GET", "/api/notifications")
            #expect(page["unreadCount"] == 1 && page["data"]?.array?.count == 2)
            #expect(try await api.call("GET", "/api/notifications/unread-count")["unreadCount"] == 1)
            let types = try await api.call("GET", "/api/catalog")["types"]?.array ?? []
            #expect(types.filter { $0["badge"] == false }.map { $0["type"] } == ["qr_payment"])
            try await api.whileLive {
                let reader = try await api.stream()
                let first = try await reader.wait(for: 1)
                #expect(first[0].data == ["unreadCount": 1])
                for (id, unread) in [(other, 1), (counted, 0)] as [(String, JSONValue)] {
                    _ = try await api.call("PATCH", "/api/notifications", #"{"notificationIds":["\#(id)"]}"#)
                    try await eventually { reader.events.last?.data == ["ids": [.string(id)], "unreadCount": unread] }
                }
                let late = try await api.arrive(3, type: "qr_payment")
                try await api.announce()
                try await eventually { reader.arrived == [late] }
                #expect(reader.events.last?.data["unreadCount"] == 0)
                #expect(reader.kinds == ["badge", "read", "read", "notification"])
            }
        }
    }

    @Test("a snoozed notification wakes in an open stream without any write at that time")
    func waking() async throws {
        try await APIFixture.with { api in
            let id = try await api.notify(1)
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                let until = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 10))
                let body = #"{"notificationIds":["\#(id)"],"state":"snoozed","until":"\#(until)"}"#
                let answer = try await api.call("PATCH", "/api/notifications", body)
                #expect(answer.status == 200)
                try await eventually { reader.events.contains { $0.data["state"] == "snoozed" } }
                try await eventually { reader.arrived == [id] }
                #expect(reader.events.last?.data["unreadCount"] == 1)
            }
        }
    }

    @Test("a stream delivers nothing of another user, nor of the same user id in another app")
    func strangers() async throws {
        try await APIFixture.with { api in
            try await api.whileLive {
                let ada = try await api.stream()
                let bob = try await api.stream(as: "bob")
                let padel = try await api.stream(app: "padel")
                for reader in [ada, bob, padel] { _ = try await reader.wait(for: 1) }
                let id = try await api.arrive(1, for: "bob")
                for user in ["ada", "bob"] { try await api.announce(user) }
                try await api.announce(app: "padel")
                _ = try await bob.wait(for: 2)
                #expect(bob.arrived == [id])
                let own = try await api.arrive(2)
                try await api.announce()
                _ = try await ada.wait(for: 2)
                #expect(ada.arrived == [own])
                #expect(padel.kinds == ["badge"])
                // Bob's cursor does not show Ada any of his notifications.
                let cursor = try #require(bob.events.first?.id)
                let forged = try await api.stream(since: cursor)
                _ = try await forged.wait(for: 1)
                #expect(!forged.arrived.contains(id))
            }
        }
    }

    @Test("a stream ends with its token, and after one hour at the latest", arguments: [600, 86_400])
    func expiry(seconds: Int) async throws {
        let time = ManualTime(SystemTime().now())
        try await APIFixture.with(time: time) { api in
            try await api.whileLive {
                let reader = try await api.stream(with: try api.token("ada", holds: .seconds(seconds)))
                _ = try await reader.wait(for: 1)
                // The token's time comes from the real clock, which is slightly later, and a leeway of one minute may
                // be added.
                time.advance(by: .seconds(min(seconds + 300, 3_600)))
                try await eventually { reader.hasEnded }
                try await eventually { api.live.hub.openStreams == 0 }
                let line = #"bellhop_live_streams_ended_total{reason="expired"} 1"#
                try await eventually { api.metrics.text().contains(line) }
            }
        }
    }

    @Test("a stream that was opened under a previous key set ends, and a new one continues")
    func otherKeys() async throws {
        try await APIFixture.with { api in
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                try api.renewKeys()
                let other = try await api.stream()
                _ = try await other.wait(for: 1)
                try await eventually { reader.hasEnded }
                let line = #"bellhop_live_streams_ended_total{reason="keys"} 1"#
                try await eventually { api.metrics.text().contains(line) }
                #expect(!other.hasEnded)
            }
        }
    }

    @Test("a stream that resumes with more notifications than its buffer holds delivers all of them and stays open")
    func comingBack() async throws {
        try await APIFixture.with { api in
            for number in 1...50 { try await api.notify(number) }
            let page = try await api.call("GET", "/api/notifications")
            let cursor = try #require(page["lastEventId"]?.string)
            for number in 51...95 { _ = try await api.arrive(number) }
            try await api.whileLive {
                let reader = try await api.stream(since: cursor)
                _ = try await reader.wait(for: 45)
                #expect(reader.arrived.count == 45)
                #expect(!reader.hasEnded)
            }
        }
    }

    @Test("an announcement that any inbox may have changed makes every stream check its inbox")
    func everybody() async throws {
        try await APIFixture.with { api in
            try await api.whileLive {
                let readers = [try await api.stream(), try await api.stream(as: "bob")]
                for reader in readers { _ = try await reader.wait(for: 1) }
                let ids = [try await api.arrive(1), try await api.arrive(2, for: "bob")]
                try await ListenerStore(pool: api.servers.pool, namespace: api.servers.namespace).announceEverybody()
                try await eventually { readers.map(\.arrived) == ids.map { [$0] } }
            }
        }
    }

    @Test("streams end when the process stops, and a new stream is rejected with 503")
    func stopping() async throws {
        try await APIFixture.with { api in
            let reader = try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                try await eventually { try await api.servers.count("SELECT count(*) FROM listeners") == 1 }
                return reader
            }
            try await eventually { reader.hasEnded }
            #expect(try await api.servers.count("SELECT count(*) FROM listeners") == 0)
            let late = try await api.call("GET", "/api/notifications/stream")
            #expect(late.status == 503)
            #expect(late.code == "stopping")
        }
    }

    @Test("streams are limited per user and per process")
    func limits() async throws {
        try await APIFixture.with(limits: LiveLimits(user: 2, process: 3)) { api in
            try await api.whileLive {
                let readers = [try await api.stream(), try await api.stream(), try await api.stream(as: "bob")]
                for reader in readers { _ = try await reader.wait(for: 1) }
                let third = try await api.call("GET", "/api/notifications/stream", as: "eva")
                #expect(third.status == 503)
                readers[2].close()
                try await eventually { api.live.hub.openStreams == 2 }
                let own = try await api.call("GET", "/api/notifications/stream")
                #expect(own.status == 429)
                #expect(own.code == "too-many-streams")
                #expect(own.headers["Retry-After"] == "5")
            }
        }
    }

    @Test("a change during a lost database listener is delivered after the listener reconnects")
    func lostListener() async throws {
        try await APIFixture.with { api in
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                let channel = "\(api.servers.namespace).live"
                let listening = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' || $1::text || '%'"
                try await eventually {
                    try await api.servers.column("SELECT pid::text \(listening)", [.text(channel)]) != []
                }
                let id = try await api.arrive(1)
                _ = try await api.servers.owner.run(
                    Statement("SELECT pg_terminate_backend(pid) \(listening)"),
                    [.text(channel)]
                )
                try await eventually { reader.arrived == [id] }
            }
        }
    }

    @Test("a Last-Event-ID that is not an event id is rejected")
    func foreignCursor() async throws {
        try await APIFixture.with { api in
            let answer = try await api.call("GET", "/api/notifications/stream", headers: ["Last-Event-ID": "17"])
            #expect(answer.status == 400)
            #expect(answer.code == "bad-cursor")
        }
    }

    @Test("a worker announces nothing while no stream is open, and announces every change soon after one opens")
    func silence() async throws {
        try await APIFixture.with { api in
            let book = ListenerStore(pool: api.servers.pool, namespace: api.servers.namespace)
            let logger = Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text))
            let metrics = MetricsRegistry()
            let worker = InboxChangeNotifier(book: book, logger: logger, metrics: metrics)
            let drain = DrainSignal()
            async let running: Void = worker.run(until: drain)
            worker.changed([try api.recipient("ada")])
            #expect(try await !book.isHeard())
            try await api.whileLive {
                let reader = try await api.stream()
                _ = try await reader.wait(for: 1)
                #expect(try await book.isHeard())
                try await eventually {
                    worker.changed([try api.recipient("ada")])
                    return !metrics.text().contains("bellhop_live_announcements_total 0\n")
                }
                let id = try await api.arrive(1)
                worker.changed([try api.recipient("ada")])
                try await eventually { reader.arrived == [id] }
            }
            drain.fire()
            try await running
        }
    }
}
