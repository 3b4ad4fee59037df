import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: records", .limitedConcurrency, .timeLimit(.ofTest))
struct RecordPromises {
    @Test("a record is written once, despite repeats", arguments: StoreKind.available)
    func duplicates(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            let records = try fixture.records("e1", to: ["u1", "u2"])
            #expect(try await store.record(records, as: .fresh) == [.recorded, .recorded])
            #expect(try await store.record(records, as: .fresh) == [.duplicate, .duplicate])
            let more = try fixture.records("e1", to: ["u2", "u3"])
            #expect(try await store.record(more, as: .fresh) == [.duplicate, .recorded])
            #expect(try await fixture.lines().count == 3)
        }
    }

    @Test("two copies in one batch are one record", arguments: StoreKind.available)
    func copiesInABatch(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let records = try fixture.records("e1", to: ["u1"])
            let outcomes = try await fixture.store.record(records + records + records, as: .fresh)
            #expect(outcomes.filter { $0 == .recorded }.count == 1)
            #expect(outcomes.filter { $0 == .duplicate }.count == 2)
        }
    }

    @Test(
        "the same id with other content is a conflict for users who have it, and the first content stays",
        arguments: StoreKind.available
    )
    func conflicts(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let store = fixture.store
            _ = try await store.record(try fixture.records("e1", to: ["u1"], title: "First"), as: .fresh)
            let other = try fixture.records("e1", to: ["u1", "u2"], title: "Second")
            #expect(try await store.record(other, as: .fresh) == [.conflict, .recorded])
            let stored = try await store.notifications(other.map(\.key))
            #expect(other.map { stored[$0.key]?.content.title } == ["First", "Second"])
        }
    }

    @Test("other content within one batch is a conflict too", arguments: StoreKind.available)
    func conflictInABatch(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let one = try fixture.records("e1", to: ["u1"], title: "One")
            let two = try fixture.records("e1", to: ["u1"], title: "Two")
            let outcomes = try await fixture.store.record(one + two, as: .fresh)
            #expect(Set(outcomes.map(\.rawValue)) == ["recorded", "conflict"])
        }
    }

    @Test("twenty concurrent batches with the same keys write each record once", arguments: StoreKind.available)
    func concurrency(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let users = (0..<100).map { "u\($0)" }
            let recorded = try await withThrowingTaskGroup(of: Int.self) { group in
                for round in 0..<20 {
                    let shuffled = round.isMultiple(of: 2) ? users : users.reversed()
                    let records = try fixture.records("e1", to: shuffled)
                    group.addTask {
                        try await fixture.store.record(records, as: .fresh).filter { $0 == .recorded }.count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(recorded == 100)
            #expect(try await fixture.lines().count == 100)
        }
    }

    @Test(
        "an erased user gets no notification from an event unless it is known to be newer",
        arguments: StoreKind.available
    )
    func erasedUser(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.feed("u1", ("recipient.deleted", ""))
            let older = try fixture.records("e1", to: ["u1"], #""sentAtIso":"2026-03-01T11:59:59Z""#)
            let silent = try fixture.records("e2", to: ["u1"])
            let newer = try fixture.records("e3", to: ["u1"], #""sentAtIso":"2026-03-01T12:00:01Z""#)
            let outcomes = try await fixture.store.record(older + silent + newer, as: .fresh)
            #expect(outcomes == [.recipientErased, .recipientErased, .recorded])

            try await fixture.feed("u1", ("recipient.upserted", ""), from: 10)
            #expect(try await fixture.store.record(silent, as: .fresh) == [.recorded])
            #expect(try await fixture.store.record(older, as: .fresh) == [.recipientErased])
        }
    }

    @Test("an erasure deletes the user's notifications and deliveries, and no others", arguments: StoreKind.available)
    func erasure(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let records = try await fixture.send(to: ["u1", "u2"], #""sentAtIso":"2026-03-01T11:00:00Z""#, as: .fresh)
            try await fixture.feed("u1", ("recipient.deleted", ""))
            let stored = try await fixture.store.notifications(records.map(\.key))
            #expect(records.map { stored[$0.key] == nil } == [true, false])
            #expect(try await fixture.lines() == ["u2 sending - 0 -"])
        }
    }

    @Test("deliveries without a destination are stored in their terminal state", arguments: StoreKind.available)
    func unsent(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let records = try fixture.records("e1", to: ["u1"], delivery: .suppressed(.pushDisabled))
            _ = try await fixture.store.record(records, as: .fresh)
            #expect(try await fixture.lines() == ["u1 suppressed push-disabled 0 -"])
            #expect(try await fixture.store.claim(records.map(\.key), as: .fresh).claimed.isEmpty)
        }
    }

    @Test(
        "stored notifications are returned by their keys, and unknown keys are omitted",
        arguments: StoreKind.available
    )
    func notifications(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let data = #""data":{"order":7},"collapseKey":"order-7""#
            let records = try await fixture.send(to: ["u1"], data, as: .fresh)
            let unknown = try fixture.records("e2", to: ["u1"])
            let stored = try await fixture.store.notifications((records + unknown).map(\.key))
            #expect(Array(stored.keys) == records.map(\.key))
            let one = try #require(stored.values.first)
            #expect(one.content.event.text == "e1" && one.content.type.text == "system" && one.content.title == "Hei")
            #expect(one.content.data == ["order": 7] && one.content.collapseKey == "order-7")
            #expect(!one.isRead && !one.isSuperseded)
        }
    }

    @Test("only a later notification of the same user with the same key supersedes one", arguments: StoreKind.available)
    func superseded(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            var records: [InboxRecord] = []
            for (event, user, key) in [("e1", "u1", "k"), ("e2", "u1", "z"), ("e3", "u2", "k"), ("e4", "u1", "k")] {
                records += try await fixture.send(event, to: [user], #""collapseKey":"\#(key)""#, as: .fresh)
                try await fixture.pass(.seconds(1))
            }
            let stored = try await fixture.store.notifications(records.map(\.key))
            #expect(records.map { stored[$0.key]?.isSuperseded } == [true, false, false, false])
        }
    }

    @Test(
        "unread notifications are counted per user, without those read and types left out",
        arguments: StoreKind.available
    )
    func unread(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let first = try await fixture.send("e1", to: ["u1", "u2"], as: .fresh)
            _ = try await fixture.send("e2", to: ["u1"], as: .fresh)
            let people = [try await fixture.known("u1"), try await fixture.known("u2")]
            let all = try await fixture.store.unread(of: people, leavingOut: [:])
            #expect(people.map { all[$0] } == [2, 1])
            try await fixture.feed("u1", ("notification.read", #","ids":["\#(first[0].id.text)"]"#))
            let stored = try await fixture.store.notifications(first.map(\.key))
            #expect(first.map { stored[$0.key]?.isRead } == [true, false])
            let rest = try await fixture.store.unread(of: people, leavingOut: [:])
            #expect(people.map { rest[$0] } == [1, 1])
            let system = try #require(EventType(validating: "system"))
            let none = try await fixture.store.unread(of: people, leavingOut: [people[0].app: [system]])
            #expect(people.map { none[$0] } == [0, 0])
        }
    }

    @Test(
        "a notification whose push was suppressed or had expired is not counted for the icon",
        arguments: StoreKind.available
    )
    func shown(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            _ = try await fixture.send("e1", to: ["u1"], as: .fresh)
            let unsent: [NewDelivery] = [.suppressed(.topicMuted), .expired()]
            for (index, delivery) in unsent.enumerated() {
                let records = try fixture.records("muted\(index)", to: ["u1"], delivery: delivery)
                #expect(try await fixture.store.record(records, as: .fresh) == [.recorded])
            }
            let user = try await fixture.known("u1")
            #expect(try await fixture.store.unread(of: [user], leavingOut: [:]) == [user: 1])
        }
    }

    @Test("an unknown user has the defaults, and a known one the stored data", arguments: StoreKind.available)
    func recipients(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.feed(
                "u1",
                ("recipient.upserted", #","timezone":"Europe/Oslo","locale":"nb","emailEnabled":false"#),
                ("recipient.upserted", #","locale":null"#)
            )
            let device = try await fixture.register("u1", token: "t1")
            let keys = [try StoreFixture.user("u1"), try StoreFixture.user("nobody")]
            let found = try await fixture.store.recipients(of: keys)
            let known = try #require(found[keys[0]])
            #expect(known.timezone?.text == "Europe/Oslo" && known.locale == nil && !known.emailEnabled)
            #expect(known.devices == [device] && !device.wasReached)
            #expect(found[keys[1]] == Recipient())
        }
    }

    @Test("a follow is returned until it ends", arguments: StoreKind.available)
    func follows(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let topic = #","topic":"venue:1""#
            try await fixture.feed("u1", ("follow.added", topic + #","role":"owner","muted":true"#))
            let key = FollowKey(try StoreFixture.user("u1"), try #require(Topic(validating: "venue:1")))
            let other = FollowKey(try StoreFixture.user("u2"), key.topic)
            let found = try await fixture.store.follows([key, other])
            #expect(found.count == 1)
            #expect(found[key]?.role?.text == "owner" && found[key]?.isMuted == true)
            try await fixture.feed("u1", ("follow.removed", topic), from: 1)
            #expect(try await fixture.store.follows([key]).isEmpty)
        }
    }
}
