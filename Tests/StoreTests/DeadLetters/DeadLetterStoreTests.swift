import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Dead-letter storage",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeadLetterStoreTests {
    @Test("the dead letter of a redelivered message counts as a copy of the stored one")
    func repeated() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            #expect(try await file.file([letter("a-1", failedAt: 10)]) == 1)
            #expect(try await file.file([letter("a-2", failedAt: 20, redelivered: true)]) == 0)
            let filed1 = try await copies(servers)
            #expect(filed1 == ["a-1 2"])
        }
    }

    @Test("a dead letter that arrives after its redelivered copy counts as a copy of that item")
    func overtaken() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            #expect(try await file.file([letter("a-2", failedAt: 20, redelivered: true)]) == 1)
            #expect(try await file.file([letter("a-1", failedAt: 10)]) == 0)
            let filed2 = try await copies(servers)
            #expect(filed2 == ["a-2 2"])
        }
    }

    @Test("another message with the same content is a separate item, even after a redelivered one")
    func another() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            #expect(try await file.file([letter("a-2", failedAt: 20, redelivered: true)]) == 1)
            #expect(try await file.file([letter("b-1", failedAt: 30), letter("c-1", failedAt: 40)]) == 2)
            let filed3 = try await copies(servers)
            #expect(filed3 == ["a-2 1", "b-1 1", "c-1 1"])
        }
    }

    @Test("the same dead letter again changes nothing")
    func same() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let letters = [letter("a-1", failedAt: 10), letter("b-1", failedAt: 20)]
            #expect(try await file.file(letters) == 2)
            #expect(try await file.file(letters) == 0)
            let filed4 = try await copies(servers)
            #expect(filed4 == ["a-1 1", "b-1 1"])
        }
    }

    private func copies(_ servers: ServerFixture) async throws -> [String?] {
        try await servers.column("SELECT dead_id || ' ' || copies FROM dead_letters ORDER BY dead_id")
    }

    /// Makes dead letters that all have the same content.
    private func letter(_ id: String, failedAt: Int64, redelivered: Bool = false) -> DeadLetterItem {
        var item = DeadLetterItem(
            id,
            DeadLetterCause(.intake, reason: "malformed-json", error: "expected a value"),
            failedAt: Timestamp(clamping: failedAt),
            origin: .init(exchange: "x", routingKey: "k", properties: [123, 125], headers: [123, 125], body: [1]),
            contentHash: [7]
        )
        item.redelivered = redelivered
        item.attempts = redelivered ? 2 : 1
        return item
    }
}
