import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Fan-outs in the database",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FanoutPageTests {
    private static let mine = Claim.fresh

    /// Stores an event for the followers of a topic, or for everyone.
    private static func keep(_ id: String, to audience: String = #"{"topic":"venue:1"}"#, in servers: ServerFixture)
        async throws
        -> PlannedEvent
    {
        let json = #"{"id":"\#(id)","app":"drop","eventType":"system","to":\#(audience),"title":"Hei","body":""}"#
        guard case .event(let event) = try servers.submission(json) else { throw ServerFixtureError("no event") }
        let plan = PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
        let outcomes = try await WorkerStore(pool: servers.pool).keep([plan])
        #expect(outcomes == [.kept])
        return plan
    }

    private static func follow(_ users: ClosedRange<Int>, of topic: String = "venue:1", in servers: ServerFixture)
        async throws
    {
        _ = try await servers.owner.run(
            """
            INSERT INTO follows (app, topic, user_id, since, source_time)
            SELECT 'drop', $1, 'u' || lpad(n::text, 3, '0'), now(), now() FROM generate_series($2::bigint, $3::bigint) n
            """,
            [.text(topic), .integer(Int64(users.lowerBound)), .integer(Int64(users.upperBound))]
        )
    }

    /// Opens the fan-out of an event to the given followers, seven per page, and returns its first page.
    private static func open(
        for users: ClosedRange<Int>,
        in servers: ServerFixture
    ) async throws -> (book: WorkerStore, page: FanoutPage) {
        try await follow(users, in: servers)
        let book = WorkerStore(pool: servers.pool, usersPerPage: 7)
        let opened = try await book.open([try await keep("e", in: servers)])
        return (book, try #require(opened.first?.first))
    }

    private static func take(
        _ page: FanoutPage,
        _ book: WorkerStore,
        as claim: Claim = mine,
        redelivered: Bool = false
    ) async throws -> PageClaimResult {
        try await book.take(page, as: claim, redelivered: redelivered)
    }

    /// Processes a whole fan-out and returns the users of its pages, page by page.
    private static func walk(_ book: WorkerStore, _ first: [FanoutPage]) async throws -> [[String]] {
        var (waiting, pages): ([FanoutPage], [[String]]) = (first, [])
        while !waiting.isEmpty {
            #expect(waiting.count <= LockedFanout.pagesAtOnce)
            let page = waiting.removeFirst()
            guard case .open(let open) = try await Self.take(page, book) else {
                throw ServerFixtureError("a page is not open")
            }
            waiting += open.further
            let users = try await book.audience(of: open).map(\.key.user.text)
            pages.append(users)
            var tally = PageCounts()
            tally.users = users.count
            tally.recorded = users.count
            waiting += try await book.finish(page, tally)
        }
        return pages
    }

    @Test("every current follower is on one page, and later and former followers are on none")
    func wholeAudience() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.follow(1...100, in: servers)
            try await Self.follow(1...5, of: "venue:2", in: servers)
            let book = WorkerStore(pool: servers.pool, usersPerPage: 7)
            let plan = try await Self.keep("e", in: servers)
            let opened = try await book.open([plan])
            #expect(opened.map(\.count) == [1])
            // These users follow while the fan-out runs.
            try await Self.follow(101...120, in: servers)
            _ = try await servers.owner.run("UPDATE follows SET removed_at = now() WHERE user_id IN ('u050', 'u099')")
            let pages = try await Self.walk(book, try #require(opened.first))
            let expected = (1...100).map { "u" + String("00\($0)".suffix(3)) }.filter { $0 != "u050" && $0 != "u099" }
            #expect(pages.flatMap { $0 }.sorted() == expected)
            #expect(pages.allSatisfy { $0.count <= 7 })
            let row = try await servers.column("SELECT state || ' ' || users || ' ' || planned_to FROM fanouts")
            #expect(row == ["finished 98 "])
            #expect(try await servers.count("SELECT count(*) FROM fanout_pages") == 0)
            #expect(try await servers.count("SELECT count(*) FROM events WHERE expanded_at IS NOT NULL") == 1)
        }
    }

    @Test("an event for everyone reaches the users known at its start, and an event without users finishes")
    func everyone() async throws {
        try await ServerFixture.withSchema { servers in
            let book = WorkerStore(pool: servers.pool, usersPerPage: 7)
            let silent = try await book.open([try await Self.keep("none", in: servers)])
            #expect(try await Self.walk(book, try #require(silent.first)) == [[]])
            let insert = """
                INSERT INTO recipients (app, user_id, source_time)
                SELECT app, app || n, now() FROM generate_series(1, 10) n, unnest(ARRAY['drop', 'safe']) app
                """
            _ = try await servers.owner.run(Statement(insert))
            let all = try await Self.keep("all", to: #"{"everyone":true}"#, in: servers)
            let opened = try await book.open([all])
            let pages = try await Self.walk(book, try #require(opened.first))
            #expect(Set(pages.flatMap { $0 }) == Set((1...10).map { "drop\($0)" }))
            let finished = "SELECT count(*) FROM fanouts WHERE state = 'finished' AND finished_at IS NOT NULL"
            #expect(try await servers.count(finished) == 2)
        }
    }

    @Test("the rate is measured from the first page that ends after an interruption")
    func interrupted() async throws {
        try await ServerFixture.withSchema { servers in
            let (book, page) = try await Self.open(for: 1...20, in: servers)
            var tally = PageCounts()
            tally.users = 7
            let measured = "SELECT users || ' ' || resumed_users || ' ' || (resumed_at = worked_at) FROM fanouts"
            guard case .open(let first) = try await Self.take(page, book) else {
                throw ServerFixtureError("the page is not open")
            }
            _ = try await book.finish(page, tally)
            #expect(try await servers.column(measured) == ["7 0 false"])
            let away = "UPDATE fanouts SET worked_at = now() - interval '5 min', resumed_at = now() - interval '6 min'"
            _ = try await servers.owner.run(Statement(away), [])
            let second = try #require(first.further.first)
            _ = try await Self.take(second, book)
            _ = try await book.finish(second, tally)
            #expect(try await servers.column(measured) == ["14 14 true"])
        }
    }

    @Test("a page that fails repeatedly pauses its fan-out and gets as many attempts again after a resume")
    func poison() async throws {
        try await ServerFixture.withSchema { servers in
            let (book, page) = try await Self.open(for: 1...3, in: servers)
            var chance = SeededChance(1)
            for _ in 0..<20 {
                let taken = try await Self.take(page, book, as: Claim(using: &chance), redelivered: true)
                guard case .open = taken else { throw ServerFixtureError("the page is not open") }
            }
            let last = try await Self.take(page, book, as: Claim(using: &chance), redelivered: true)
            guard case .over = last else { throw ServerFixtureError("the page is open") }
            #expect(try await servers.column("SELECT state || ' ' || trouble FROM fanouts") == ["paused page-fails"])
            #expect(try await book.takeForgottenPages(atMost: 10, lostAfter: .zero).isEmpty)
        }
    }

    @Test("a waiting page is released at increasing intervals")
    func waiting() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.follow(1...3, in: servers)
            let book = WorkerStore(pool: servers.pool, usersPerPage: 7)
            _ = try await book.open([try await Self.keep("e", in: servers)])
            let ago = "UPDATE fanout_pages SET handed_over_at = now() - $1::bigint * interval '1 s'"
            for (seconds, isDue) in [(301, true), (301, false), (601, true), (601, false), (1201, true)] {
                _ = try await servers.owner.run(Statement(ago), [.integer(Int64(seconds))])
                let pages = try await book.takeForgottenPages(atMost: 10, lostAfter: .seconds(300))
                #expect(pages.isEmpty == !isDue)
            }
        }
    }

    @Test("a stored event can be written out again, whatever its size and its number formats")
    func large() async throws {
        try await ServerFixture.withSchema { servers in
            let numbers = Array(repeating: "1e300", count: 40_000).joined(separator: ",")
            let json =
                #"{"id":"e","app":"drop","eventType":"system","to":{"topic":"t"},"title":"Hei","body":"","data":{"a":[\#(numbers)]}}"#
            guard case .event(let event) = try servers.submission(json) else { throw ServerFixtureError("no event") }
            let plan = PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
            _ = try await WorkerStore(pool: servers.pool).keep([plan])
            let book = WorkerStore(pool: servers.pool)
            let opened = try await book.open([plan])
            let page = try #require(opened.first?.first)
            guard case .open(let open) = try await Self.take(page, book) else {
                throw ServerFixtureError("it is not open")
            }
            #expect(open.content == event.plainForm())
            #expect(open.contentHash == plan.contentHash)
        }
    }

    @Test("a paused fan-out releases no page, a resumed one releases its pages, and a cancelled one plans none")
    func pause() async throws {
        try await ServerFixture.withSchema { servers in
            let (book, first) = try await Self.open(for: 1...100, in: servers)
            guard case .open(let open) = try await Self.take(first, book), let beside = open.further.first,
                case .open = try await Self.take(beside, book)
            else { throw ServerFixtureError("the page is not open") }
            try await book.pause(first, because: "unknown-type")
            // The page is taken and pauses for the same reason: it waits like the others, and no longer.
            try await book.pause(beside, because: "unknown-type")
            for page in open.further {
                guard case .over = try await Self.take(page, book) else { throw ServerFixtureError("a page is open") }
            }
            #expect(try await servers.column("SELECT state || ' ' || trouble FROM fanouts") == ["paused unknown-type"])
            // The taken page finishes; the page that follows it waits like the others.
            #expect(try await book.finish(first, PageCounts()).isEmpty)
            #expect(try await book.takeForgottenPages(atMost: 10, lostAfter: .zero).isEmpty)
            let admin = ActingOperator(name: "ada", because: "a test")
            _ = try await FanoutAdmin(pool: servers.owner).perform(.resume, on: FanoutFilter(), agreed: 1, by: admin)
            let resumed = try await book.takeForgottenPages(atMost: 10, lostAfter: .seconds(300))
            #expect(Set(resumed.map(\.page)) == [1, 2, 3, 4])
            #expect(try await book.takeForgottenPages(atMost: 10, lostAfter: .seconds(300)).isEmpty)
            try await book.giveBack(Array(resumed.prefix(1)))
            #expect(try await book.takeForgottenPages(atMost: 10, lostAfter: .seconds(300)) == Array(resumed.prefix(1)))
            let second = try #require(resumed.first)
            guard case .open = try await Self.take(second, book) else {
                throw ServerFixtureError("the page is not open")
            }
            _ = try await servers.owner.run("UPDATE fanouts SET state = 'cancelled', finished_at = now()")
            #expect(try await book.finish(second, PageCounts()).isEmpty)
            #expect(try await book.takeForgottenPages(atMost: 10, lostAfter: .zero).isEmpty)
            #expect(try await servers.column("SELECT state FROM fanouts") == ["cancelled"])
        }
    }
}
