import Dispatch
import IntegrationSupport
import Postgres
@testable import Store
import TestSupport
import Testing

@Suite("Outbox", .limitedConcurrency, .enabled(if: Servers.databaseURL != nil), .timeLimit(.ofTest))
struct OutboxStoreTests {
    @Test("rows are read in the order of their ids, with the event as it was written, until they are deleted")
    func order() async throws {
        try await PublisherFixture.with { fixture in
            for number in 0..<5 { try await fixture.publish(#"{"id": "e\#(number)"}"#, key: number < 3 ? "k" : nil) }
            try await fixture.relay("one") { relay in
                let share = try await relay.takeShare()
                #expect(share.slots == Array(0..<OutboxSchema.slots))
                let rows = try await relay.rows(share, PublisherFixture.everything)?.rows ?? []
                let bodies = rows.map { String(decoding: $0.body, as: UTF8.self) }
                #expect(bodies == (0..<5).map { number in #"{"id": "e\#(number)"}"# })
                try await relay.delete(rows.prefix(2).map { row in row.id })
                let rest = try await relay.rows(share, PublisherFixture.everything)?.rows
                #expect(rest == Array(rows.dropFirst(2)))
            }
        }
    }

    @Test("a row waits for an open transaction with a lower id in its slot, and both are read in their order then")
    func outOfOrder() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.relay("one") { relay in
                let share = try await relay.takeShare()
                let (arrivals, reached) = AsyncStream.makeStream(of: Void.self)
                let end = DispatchSemaphore(value: 0)
                async let first = fixture.application.transaction { (connection) throws(PostgresError) in
                    let row = try connection.run(PublisherFixture.publish, [.text(#"{"id":"first"}"#), .text("k")])
                    reached.finish()
                    end.wait()
                    return try row.integer(0, 0)
                }
                for await _ in arrivals {}
                let second = try await fixture.publish(#"{"id":"second"}"#, key: "k")
                let early = try await relay.rows(share, PublisherFixture.everything)
                #expect(early?.rows == [])
                #expect(early?.busySlots.count == 1)
                let slot = try #require(early?.busySlots.first)
                let insisted = try await relay.rows(insisting: slot, share, PublisherFixture.everything)
                #expect(insisted?.rows == nil)
                end.signal()
                let expected = [try await first, second]
                let rows = try await relay.rows(share, PublisherFixture.everything)?.rows.map { row in row.id }
                #expect(rows == expected)
                let alone = try await relay.rows(insisting: slot, share, PublisherFixture.everything)?.rows.map { row in
                    row.id
                }
                #expect(alone == expected)
            }
        }
    }

    @Test("two relays share the slots, and the second one takes all of them when the first one has ended")
    func shares() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.relay("two") { second in
                let before = try await fixture.relay("one") { first in
                    let whole = try await first.takeShare()
                    #expect(whole.slots.count == 64)
                    let nothing = try await second.takeShare()
                    #expect(nothing.slots.isEmpty)
                    let half = try await first.takeShare()
                    let other = try await second.takeShare()
                    #expect(half.slots.count == 32)
                    #expect(Set(half.slots + other.slots).count == 64)
                    return other
                }
                try await eventually("the first session has ended") {
                    try await second.takeShare().slots.count == 64
                }
                #expect(before.slots.count == 32)
            }
        }
    }

    @Test("a session that does not own its slots, as after a restart of the server, gets no rows")
    func newSession() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.publish("{}", key: nil)
            let share = try await fixture.relay("one") { relay in try await relay.takeShare() }
            try await fixture.relay("one") { relay in
                let rows = try await relay.rows(share, PublisherFixture.everything)
                #expect(rows == nil)
                let insisted = try await relay.rows(insisting: 3, share, PublisherFixture.everything)
                #expect(insisted == nil)
            }
        }
    }

    @Test("a batch ends at its limits of rows and bytes, and has one row at least")
    func limits() async throws {
        try await PublisherFixture.with { fixture in
            let large = String(repeating: "x", count: 2_000)
            for _ in 0..<4 { try await fixture.publish(#"{"text": "\#(large)"}"#, key: nil) }
            try await fixture.relay("one") { relay in
                let share = try await relay.takeShare()
                for (rows, bytes, expected) in [(3, 1 << 20, 3), (10, 1, 1), (10, 4_100, 3), (10, 4_000, 2)] {
                    let found = try await relay.rows(share, PublisherFixture.request(rows: rows, bytes: bytes))?.rows
                        .count
                    #expect(found == expected, "\(rows) rows, \(bytes) bytes")
                }
                let ids = try await relay.rows(share, PublisherFixture.everything)?.rows.map { row in row.id } ?? []
                var request = PublisherFixture.request(after: ids[1], rows: 10, bytes: 1 << 20)
                request.without = [ids[2]]
                request.again = [ids[0], ids[3], 0]
                let rest = try await relay.rows(share, request)?.rows.map { row in row.id }
                #expect(rest == [ids[0], ids[3]])
            }
        }
    }

    @Test("slots without a floor are not read; a floor is below the first row, and below every open transaction")
    func floors() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.relay("one") { relay in
                let share = try await relay.takeShare()
                let empty = OutboxStore.Request(rows: 10, bytes: 1 << 20)
                let before = try #require(try await relay.rows(share, empty))
                #expect(before.rows == [])
                #expect(before.readSlots == [])
                #expect(before.unknown == OutboxStore.UnknownSlots(slots: share.slots, lastID: 0))
                let first = try await fixture.publish("{}", key: "k")
                let second = try await fixture.publish("{}", key: "k")
                // A transaction with the first id may still have been open when the second row was seen.
                let early = try await relay.floor(of: try #require(before.unknown))
                #expect(early == 0)
                let after = try #require(try await relay.rows(share, empty)?.unknown)
                #expect(after.lastID == second)
                let floor = try await relay.floor(of: after)
                #expect(floor == first - 1)
                try await relay.delete([first, second])
                let none = try await relay.floor(of: after)
                #expect(none == second)
            }
        }
    }

    @Test("rows below the floors of the relay's slots are found, except the rows to leave out")
    func strays() async throws {
        try await PublisherFixture.with { fixture in
            var rows: [Int64] = []
            for number in 0..<4 { rows.append(try await fixture.publish("{}", key: "k\(number)")) }
            try await fixture.relay("one") { relay in
                let share = try await relay.takeShare()
                let read = try await relay.rows(share, PublisherFixture.everything)?.rows ?? []
                let slots = read.map { row in row.slot }
                try #require(Set(slots).count == 4)
                let floors = [slots[0]: rows[0], slots[1]: rows[3], slots[2]: rows[2] - 1]
                let found = try await relay.strays(below: floors, without: [], limit: 10)
                #expect(found == [rows[0], rows[1]])
                let some = try await relay.strays(below: floors, without: [rows[0]], limit: 10)
                #expect(some == [rows[1]])
                let one = try await relay.strays(below: floors, without: [], limit: 1)
                #expect(one == [rows[0]])
            }
        }
    }

    @Test("a relay sees the rows that were committed before its locks, whatever the isolation of the database")
    func isolation() async throws {
        let text = try #require(Servers.databaseURL)
        let joint = text.contains("?") ? "&" : "?"
        let url = try DatabaseURL("\(text)\(joint)options=-cdefault_transaction_isolation%3Dserializable")
        let pool = PostgresPool(OutboxStore.poolOptions(url))
        let level = try await pool.run("SHOW default_transaction_isolation").text(0, 0)
        await pool.close()
        #expect(level == "read committed")
    }

    @Test(
        "bellhop_publish rejects what is not an event, and says why",
        arguments: [
            ("[1]", "the event must be a JSON object, found array"), ("\"x\"", "found string"), ("null", "found null"),
            (#"{"a":"\#(String(repeating: "b", count: 262_144))"}"#, "and at most 262144 are allowed"),
        ]
    )
    func rejected(event: String, words: String) async throws {
        try await PublisherFixture.with { fixture in
            let error = await #expect(throws: PostgresError.self) { try await fixture.publish(event, key: "k") }
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains(words), "\(text)")
            let rows = try await fixture.application.run("SELECT count(*) FROM bellhop_outbox").integer(0, 0)
            #expect(rows == 0)
        }
    }

    @Test("rows that an application inserts without the function get an id, a slot and a time")
    func plainInserts() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.execute("INSERT INTO bellhop_outbox (event, key) VALUES ('{}', 'k'), ('{}', NULL)")
            let lag = try await OutboxLag(of: fixture.application)
            #expect(lag.rows == 2)
            #expect(lag.oldestAge < 60)
            #expect(!lag.isCapped)
            let found = try await fixture.relay("one") { relay in
                try await relay.rows(try await relay.takeShare(), PublisherFixture.everything)?.rows.count
            }
            #expect(found == 2)
        }
    }

    @Test("a missing table and missing rights are errors with advice")
    func advice() async throws {
        try await PublisherFixture.with { fixture in
            try await fixture.execute("DROP TABLE bellhop_outbox CASCADE")
            let error = try await fixture.relay("one") { relay in
                await #expect(throws: PostgresError.self) { try await relay.takeShare() }
            }
            #expect(error?.outboxAdvice?.contains("bellhop relay --schema") == true)
        }
    }
}
