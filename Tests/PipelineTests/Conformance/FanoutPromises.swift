import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: fan-outs", .limitedConcurrency, .timeLimit(.ofTest))
struct FanoutPromises {
    private static let mine = Claim.fresh
    private static let venue = #"{"topic":"venue:1"}"#

    private static func names(_ numbers: ClosedRange<Int>) -> [String] {
        numbers.map { "u" + String("00\($0)".suffix(3)) }
    }

    /// Stores an event and opens its fan-out; returns its first page.
    private static func open(
        _ fixture: StoreFixture,
        _ id: String = "e",
        _ audience: String = venue
    ) async throws -> FanoutPage {
        let plan = try fixture.plan(id, audience)
        #expect(try await fixture.store.keep([plan]) == [.kept])
        let opened = try await fixture.store.open([plan])
        #expect(opened.map(\.count) == [1])
        return try #require(opened.first?.first)
    }

    /// Takes a page; `nil` if it is not to be processed.
    private static func take(
        _ page: FanoutPage,
        _ fixture: StoreFixture,
        as claim: Claim = mine,
        redelivered: Bool = false
    ) async throws -> ClaimedPage? {
        switch try await fixture.store.take(page, as: claim, redelivered: redelivered) {
        case .open(let open): open
        case .over: nil
        }
    }

    /// Processes a whole fan-out and returns the users of its pages, page by page.
    private static func walk(_ fixture: StoreFixture, _ first: FanoutPage) async throws -> [[String]] {
        var (waiting, pages): ([FanoutPage], [[String]]) = ([first], [])
        while !waiting.isEmpty {
            #expect(waiting.count <= LockedFanout.pagesAtOnce)
            let page = waiting.removeFirst()
            let open = try #require(try await take(page, fixture))
            waiting += open.further
            let users = try await fixture.store.audience(of: open).map(\.key.user.text)
            pages.append(users)
            var tally = PageCounts()
            tally.users = users.count
            waiting += try await fixture.store.finish(page, tally)
        }
        return pages
    }

    @Test(
        "every current follower is on one page, and later and former followers are on none",
        arguments: StoreKind.available
    )
    func followers(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...40), "venue:1")
            try await fixture.follow(Self.names(1...3), "venue:2")
            let first = try await Self.open(fixture)
            // These users follow, or stop following, while the fan-out runs.
            try await fixture.pass(.seconds(1))
            try await fixture.follow(Self.names(41...45), "venue:1")
            try await fixture.feed("u020", ("follow.removed", #","topic":"venue:1""#), from: 1)
            let pages = try await Self.walk(fixture, first)
            let expected = Self.names(1...40).filter { $0 != "u020" }
            #expect(pages.joined().sorted() == expected)
            #expect(pages.allSatisfy { $0.count <= StoreFixture.usersPerPage })
        }
    }

    @Test(
        "an event for everyone reaches the app's known users, and one without an audience ends after an empty page",
        arguments: StoreKind.available
    )
    func everyone(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            #expect(try await Self.walk(fixture, try await Self.open(fixture, "none")) == [[]])
            for user in Self.names(1...10) { try await fixture.feed(user, ("recipient.upserted", "")) }
            let pages = try await Self.walk(fixture, try await Self.open(fixture, "all", #"{"everyone":true}"#))
            #expect(pages == [Self.names(1...7), Self.names(8...10)])
        }
    }

    @Test("a follower's page carries the stored data and the follow", arguments: StoreKind.available)
    func members(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.feed("u001", ("follow.added", #","topic":"venue:1","muted":true"#))
            let device = try await fixture.register("u001", token: "t1")
            let page = try #require(try await Self.take(try await Self.open(fixture), fixture))
            let member = try #require(try await fixture.store.audience(of: page).first)
            #expect(member.recipient.devices == [device])
            #expect(member.follow?.isMuted == true)
        }
    }

    @Test(
        "a repeat of the event opens no second fan-out, and names the pages that no worker has taken",
        arguments: StoreKind.available
    )
    func repeats(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...20), "venue:1")
            let plan = try fixture.plan("e", Self.venue)
            _ = try await fixture.store.keep([plan])
            let copies = try await fixture.store.open([plan, plan])
            #expect(copies.map(\.count) == [1, 0])
            let first = try #require(copies.first?.first)
            #expect(try await fixture.store.open([plan]) == [[first]])
            _ = try await Self.walk(fixture, first)
            #expect(try await fixture.store.open([plan]) == [[]])
        }
    }

    @Test(
        "a page has one owner unless its message is redelivered, and is available again after five minutes",
        arguments: StoreKind.available
    )
    func owners(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...3), "venue:1")
            let page = try await Self.open(fixture)
            #expect(try await Self.take(page, fixture) != nil)
            #expect(try await Self.take(page, fixture, as: .fresh) == nil)
            // The reply was lost: the same batch takes it again.
            #expect(try await Self.take(page, fixture) != nil)
            #expect(try await Self.take(page, fixture, as: .fresh, redelivered: true) != nil)
            try await fixture.pass(.seconds(301))
            #expect(try await Self.take(page, fixture, as: .fresh) != nil)
        }
    }

    @Test(
        "a page ends once, and a repeat of its end names the pages that no worker has taken",
        arguments: StoreKind.available
    )
    func ending(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...60), "venue:1")
            let page = try await Self.open(fixture)
            let open = try #require(try await Self.take(page, fixture))
            #expect(open.further.map(\.page).sorted() == [1, 2, 3])
            #expect(try await fixture.store.finish(page, PageCounts()).map(\.page) == [4])
            #expect(try await fixture.store.finish(page, PageCounts()).map(\.page).sorted() == [1, 2, 3, 4])
            #expect(try await fixture.store.untaken(of: page.fanout).map(\.page).sorted() == [1, 2, 3, 4])
            #expect(try await Self.take(page, fixture) == nil)
        }
    }

    @Test("the pages that a lost reply named are named again", arguments: StoreKind.available)
    func lostReply(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...60), "venue:1")
            let page = try await Self.open(fixture)
            _ = try await Self.take(page, fixture)
            let again = try #require(try await Self.take(page, fixture))
            #expect(again.further.map(\.page).sorted() == [1, 2, 3])
        }
    }

    @Test(
        "a returned page can be taken, and stays taken if another batch has taken it meanwhile",
        arguments: StoreKind.available
    )
    func putBack(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...3), "venue:1")
            let page = try await Self.open(fixture)
            let (late, other) = (Claim.fresh, Claim.fresh)
            for claim in [late, other] {
                #expect(try await Self.take(page, fixture, as: claim, redelivered: true) != nil)
            }
            try await fixture.store.putBack(page, takenAs: late)
            #expect(try await Self.take(page, fixture, as: .fresh) == nil)
            try await fixture.store.putBack(page, takenAs: other)
            #expect(try await Self.take(page, fixture, as: .fresh) != nil)
        }
    }

    @Test("a page that fails repeatedly pauses its fan-out", arguments: StoreKind.available)
    func poison(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...3), "venue:1")
            let page = try await Self.open(fixture)
            for _ in 0..<20 {
                #expect(try await Self.take(page, fixture, as: .fresh, redelivered: true) != nil)
            }
            #expect(try await Self.take(page, fixture, as: .fresh, redelivered: true) == nil)
            #expect(try await Self.take(page, fixture, as: .fresh) == nil)
        }
    }

    @Test("a paused fan-out has no page to take and publishes none", arguments: StoreKind.available)
    func pausing(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            try await fixture.follow(Self.names(1...60), "venue:1")
            let page = try await Self.open(fixture)
            let open = try #require(try await Self.take(page, fixture))
            let beside = try #require(open.further.first)
            #expect(try await Self.take(beside, fixture) != nil)
            try await fixture.store.pause(page, because: "unknown-type")
            for other in open.further { #expect(try await Self.take(other, fixture, as: .fresh) == nil) }
            #expect(try await fixture.store.untaken(of: page.fanout).isEmpty)
            // The page that was taken before ends; its successor waits like the others.
            #expect(try await fixture.store.finish(beside, PageCounts()).isEmpty)
        }
    }
}
