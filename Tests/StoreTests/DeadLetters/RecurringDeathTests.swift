import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@Suite(
    "Recurring dead letters",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RecurringDeathTests {
    @Test("a dead letter without an id is one item that counts its copies and reopens after a discard")
    func recurring() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let new = try await file.file(Array(repeating: letter(), count: 4))
            #expect(new == 1)
            for _ in 1...6 { _ = try await file.file([letter()]) }
            var items = try await Self.items(servers)
            #expect(items == ["broker-1|open|10"])
            _ = try await servers.owner.run("UPDATE dead_letters SET state = 'discarded'")
            _ = try await file.file([letter(isAgain: true)])
            items = try await Self.items(servers)
            #expect(items == ["broker-1|discarded|10"])
            _ = try await file.file([letter(), letter()])
            items = try await Self.items(servers)
            #expect(items == ["broker-1|open|12"])
            let history = try await servers.column("SELECT kind FROM dead_letter_history")
            #expect(history == ["died"])
        }
    }

    @Test("redelivered dead letters count as the copies of one batch, and a repeated batch adds none")
    func again() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let three = Array(repeating: letter(isAgain: true), count: 3)
            for _ in 1...2 { _ = try await file.file(three) }
            let items = try await Self.items(servers)
            #expect(items == ["broker-1|open|3"])
        }
    }

    @Test("a redelivered message is a copy of an open item, and a new item if that was closed before the failure")
    func behindClosed() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            _ = try await file.file([named("a-1", failedAt: DeadLetterSamples.ago(60))])
            _ = try await servers.owner.run(
                "UPDATE dead_letters SET state = 'discarded', changed_at = now() - interval '30 s'"
            )
            _ = try await file.file([named("a-2", failedAt: DeadLetterSamples.ago(40), isAgain: true)])
            _ = try await file.file([named("a-3", failedAt: DeadLetterSamples.ago(20), isAgain: true)])
            _ = try await file.file([named("a-4", failedAt: DeadLetterSamples.ago(10), isAgain: true)])
            let items = try await Self.items(servers)
            #expect(items == ["a-1|discarded|2", "a-3|open|2"])
        }
    }

    private static func items(_ servers: ServerFixture) async throws -> [String?] {
        try await servers.column("SELECT concat_ws('|', dead_id, state, copies) FROM dead_letters ORDER BY dead_id")
    }

    private func letter(isAgain: Bool = false) -> DeadLetterItem {
        var item = DeadLetterSamples.rejected("broker-1", reason: "expired")
        item.identity = .content
        item.redelivered = isAgain
        return item
    }

    private func named(_ id: String, failedAt: Timestamp, isAgain: Bool = false) -> DeadLetterItem {
        var item = DeadLetterSamples.rejected(id, failedAt: failedAt)
        item.contentHash = [7]
        item.redelivered = isAgain
        return item
    }
}
