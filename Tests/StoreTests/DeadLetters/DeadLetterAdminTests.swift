import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Operator actions on dead letters",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeadLetterAdminTests {
    @Test("filters combine and select the same items in a count, a list and groups")
    func filters() async throws {
        try await DeadLetterTable.with(Self.mixed) { admin in
            let all = DeadLetterFilter()
            let cases: [(filter: DeadLetterFilter, ids: [String])] = [
                (all, ["f", "e", "d", "c", "b", "a"]),
                (all.having { $0.app = "safe" }, ["f"]),
                (all.having { $0.reason = "missing-id" }, ["e", "b"]),
                (all.having { $0.user = "u1" }, ["f", "a"]),
                (
                    all.having {
                        $0.app = "drop"; $0.user = "u1"
                    }, ["a"]
                ),
                (all.having { $0.since = DeadLetterSamples.ago(250) }, ["f", "e", "d"]),
                (all.having { $0.until = DeadLetterSamples.ago(250) }, ["c", "b", "a"]),
                (
                    all.having {
                        $0.since = DeadLetterSamples.ago(450); $0.until = DeadLetterSamples.ago(150)
                    }, ["e", "d", "c"]
                ),
                (all.having { $0.limit = 2 }, ["f", "e"]),
                (
                    all.having {
                        $0.reason = "missing-id"; $0.limit = 1
                    }, ["e"]
                ),
                (all.having { $0.ids = ["a", "d"] }, ["d", "a"]),
                (all.having { $0.type = "nosuch" }, []),
                (all.with(state: .discarded), []),
            ]
            for (filter, ids) in cases {
                let page = try await admin.page(filter, atMost: 50)
                let count = try await admin.count(filter)
                let groups = try await admin.groups(filter)
                #expect(page.items.map(\.deadID) == ids, "\(filter)")
                #expect(count.items == ids.count, "\(filter)")
                #expect(groups.items == ids.count, "\(filter)")
                #expect(groups.groups.map(\.items).reduce(0, +) == ids.count, "\(filter)")
            }
        }
    }

    @Test("a group shows its latest error, its users and the hours of its failures")
    func groups() async throws {
        let letters = [
            DeadLetterSamples.rejected("a", user: "u1", error: "item 1 of 'x'", failedAt: DeadLetterSamples.ago(7_300)),
            DeadLetterSamples.rejected("b", user: "u2", error: "item 2 of 'y'", failedAt: DeadLetterSamples.ago(100)),
            DeadLetterSamples.rejected("c", user: "u2", error: "item 3 of 'z'", failedAt: DeadLetterSamples.ago(50)),
            DeadLetterSamples.rejected("d", reason: "too-large", failedAt: DeadLetterSamples.ago(200_000)),
        ]
        try await DeadLetterTable.with(letters) { admin in
            let found = try await admin.groups(DeadLetterFilter())
            #expect(found.count == 2)
            let first = try #require(found.groups.first)
            #expect(first.items == 3)
            #expect(first.users == 2)
            #expect(first.cause.error == "item 3 of 'z'")
            #expect(first.lastDay.reduce(0, +) == 3)
            #expect(first.lastDay.last == 2)
            #expect(first.lastDay[21] == 1)
            #expect(found.groups.last?.lastDay.reduce(0, +) == 0)
        }
    }

    @Test("a discard affects exactly the selected items, a restore reverts it, and history and audit record both")
    func discardAndRestore() async throws {
        try await DeadLetterTable.with(Self.mixed) { admin in
            let ada = ActingOperator(name: "ada", because: "their test")
            let filter = DeadLetterFilter().having { $0.reason = "missing-id" }
            let discarded = try await admin.perform(.discard, on: filter, agreed: 2, by: ada)
            #expect(discarded == .done(items: 2))
            let open = try await admin.page(DeadLetterFilter(), atMost: 50).items.map(\.deadID)
            #expect(open == ["f", "d", "c", "a"])
            let aside = try await admin.page(filter.with(state: .discarded), atMost: 50).items.map(\.deadID)
            #expect(aside == ["e", "b"])
            let restored = try await admin.perform(.restore, on: filter.with(state: .discarded), agreed: 2, by: ada)
            #expect(restored == .done(items: 2))
            let back = try await admin.count(filter).items
            #expect(back == 2)
            let history = try await admin.detail("e")?.history.map { "\($0.kind) \($0.operator ?? "") \($0.words)" }
            #expect(history == ["discarded ada their test", "restored ada their test"])
            let audit = try await admin.auditLog(atMost: 10)
            #expect(audit.map(\.act) == ["restore", "discard"])
            #expect(audit.map(\.items) == [2, 2])
            #expect(audit.last?.filter == ["reason": "missing-id"])
        }
    }

    @Test("an action on more items than agreed changes no item and writes no audit record")
    func moreThanAgreed() async throws {
        try await DeadLetterTable.with(Self.mixed) { admin in
            let outcome = try await admin.perform(
                .discard,
                on: DeadLetterFilter(),
                agreed: 5,
                by: ActingOperator(name: "ada", because: "-")
            )
            #expect(outcome == .moreThanAgreed(items: 6))
            let open = try await admin.count(DeadLetterFilter()).items
            #expect(open == 6)
            #expect(try await admin.auditLog(atMost: 10).isEmpty)
        }
    }

    @Test("an item is found by the beginning of its id, whatever characters it contains")
    func beginnings() async throws {
        let letters = ["a%b-1", "a%c-2", "a_b-3"].map { DeadLetterSamples.rejected($0) }
        try await DeadLetterTable.with(letters) { admin in
            let percent = try await admin.ids(beginningWith: "a%", atMost: 5)
            let underscore = try await admin.ids(beginningWith: "a_", atMost: 5)
            let none = try await admin.ids(beginningWith: "b", atMost: 5)
            #expect(percent == ["a%b-1", "a%c-2"])
            #expect(underscore == ["a_b-3"])
            #expect(none.isEmpty)
        }
    }

    @Test("the audit can be read and extended, but not changed or deleted")
    func auditOnlyGrows() async throws {
        try await ServerFixture.withSchema { servers in
            let pool = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
            let admin = DeadLetterAdmin(pool: pool)
            try await admin.audit(.reveal, DeadLetterFilter(), items: 1, by: ActingOperator(name: "ada", because: "x"))
            for forbidden in ["UPDATE audit SET operator = 'eve'", "DELETE FROM audit"] {
                await #expect(throws: PostgresError.self, "\(forbidden)") { try await pool.run(Statement(forbidden)) }
            }
            let entries = try await admin.auditLog(atMost: 10)
            await pool.close()
            #expect(entries.count == 1)
        }
    }

    /// Six items, `a` the oldest.
    private static let mixed: [DeadLetterItem] = [
        DeadLetterSamples.rejected("a", user: "u1", failedAt: DeadLetterSamples.ago(600)),
        DeadLetterSamples.rejected("b", reason: "missing-id", failedAt: DeadLetterSamples.ago(500)),
        DeadLetterSamples.rejected("c", failedAt: DeadLetterSamples.ago(400)),
        DeadLetterSamples.rejected("d", failedAt: DeadLetterSamples.ago(200)),
        DeadLetterSamples.rejected("e", reason: "missing-id", failedAt: DeadLetterSamples.ago(180)),
        DeadLetterSamples.rejected("f", app: "safe", user: "u1", failedAt: DeadLetterSamples.ago(100)),
    ]
}

/// Operator access to a database with some stored items.
enum DeadLetterTable {
    static func with(
        _ letters: [DeadLetterItem],
        _ body: (DeadLetterAdmin) async throws -> Void
    ) async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
            let result: Result<Void, any Error>
            do { result = .success(try await body(DeadLetterAdmin(pool: admin))) } catch { result = .failure(error) }
            await admin.close()
            try result.get()
        }
    }
}

extension DeadLetterFilter {
    func having(_ change: (inout DeadLetterFilter) -> Void) -> DeadLetterFilter {
        var other = self
        change(&other)
        return other
    }
}
