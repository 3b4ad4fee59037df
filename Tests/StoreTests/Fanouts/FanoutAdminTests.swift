import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "Operator actions on fan-outs",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FanoutAdminTests {
    @Test("the remaining users are the followers beyond the planned pages and the users of unfinished pages")
    func left() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addFollowers(100)
            _ = try await servers.addFanout("e1", users: 40, plannedTo: "u00060", planned: [true])
            // Its page covers the users after the 40th, up to the 60th.
            _ = try await servers.owner.run("UPDATE fanout_pages SET after = 'u00040'")
            let found = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)
            #expect(found.map(\.left) == [60])
            #expect(found.map(\.leftIsCapped) == [false])
            let rate = try #require(found[0].record.rate(at: found[0].asOf))
            #expect(rate > 0.5 && rate < 0.7)
            let seconds = try #require(found[0].secondsLeft)
            #expect(seconds > 80 && seconds < 110)
        }
    }

    @Test("a fan-out without a complete page for some seconds has an interruption in place of a rate and a time left")
    func interruption() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addFollowers(100)
            _ = try await servers.addFanout("e1", users: 40, plannedTo: "u00060", planned: [true])
            let found = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)
            #expect(found[0].record.interruption(at: found[0].asOf) == nil)
            _ = try await servers.owner.run("UPDATE fanouts SET worked_at = now() - interval '12 s'")
            let later = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)[0]
            let still = try #require(later.record.interruption(at: later.asOf))
            #expect(still >= .seconds(12))
            #expect(later.record.rate(at: later.asOf) == nil)
            #expect(later.secondsLeft == nil)
        }
    }

    @Test("the rate of a cancelled or paused fan-out counts the time until its last page")
    func cancelledRate() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.addFanout("e1", state: .cancelled, users: 600)
            _ = try await servers.owner.run("UPDATE fanouts SET finished_at = now() + interval '1 h'")
            let record = try await Self.admin(servers).latest(FanoutFilter(), atMost: 1)[0].record
            let rate = try #require(record.rate(at: record.startedAt))
            #expect(rate > 9 && rate < 11)
            let paused = "UPDATE fanouts SET state = 'paused', paused_at = finished_at, finished_at = NULL"
            _ = try await servers.owner.run(Statement(paused))
            let held = try await Self.admin(servers).latest(FanoutFilter(), atMost: 1)[0].record
            let before = try #require(held.rate(at: record.startedAt))
            #expect(before > 9 && before < 11, "the pause began after its last page")
            _ = try await servers.owner.run("UPDATE fanouts SET paused_at = worked_at - interval '50 s'")
            let later = try await Self.admin(servers).latest(FanoutFilter(), atMost: 1)[0].record
            #expect(later.rate(at: record.startedAt) == before, "its last page was in progress at the pause")
        }
    }

    @Test("an event for everyone counts recipients, and none remain after the last planned page")
    func everyone() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addFollowers(30, topic: nil)
            try await servers.addFollowers(50)
            let number = try await servers.addFanout("e1", topic: nil, users: 10, plannedTo: "u00010")
            let before = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)
            #expect(before.map(\.left) == [20])
            _ = try await servers.owner.run(
                "UPDATE fanouts SET is_planned = true WHERE number = $1",
                [.integer(number)]
            )
            let after = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)
            #expect(after.map(\.left) == [0])
        }
    }

    @Test("the count stops at its limit and reports that there may be more")
    func capped() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addFollowers(10_002)
            _ = try await servers.addFanout("e1")
            let found = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10, counting: 1)
            #expect(found.map(\.left) == [10_000])
            #expect(found.map(\.leftIsCapped) == [true])
            #expect(found[0].secondsLeft == nil)
        }
    }

    @Test("unfinished fan-outs come first, then the latest")
    func order() async throws {
        try await ServerFixture.withSchema { servers in
            for (event, state) in [("e1", FanoutState.paused), ("e2", .finished), ("e3", .running), ("e4", .cancelled)]
            {
                _ = try await servers.addFanout(event, state: state)
            }
            let found = try await Self.admin(servers).latest(FanoutFilter(), atMost: 10)
            #expect(found.map(\.record.event) == ["e3", "e1", "e4", "e2"])
            var finished = FanoutFilter()
            finished.states = [.finished]
            #expect(try await Self.admin(servers).count(finished) == 1)
        }
    }

    @Test("pause and resume change only fan-outs that allow it, and the rate is measured from the resume")
    func pausing() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = try Self.admin(servers)
            _ = try await servers.addFanout("e1", users: 600)
            _ = try await servers.addFanout("e2", state: .finished)
            let nothing = try await admin.perform(.resume, on: FanoutFilter(), agreed: 9, by: Self.ada)
            #expect(nothing == .done(items: 0))
            let paused = try await admin.perform(.pause, on: FanoutFilter(), agreed: 9, by: Self.ada)
            #expect(paused == .done(items: 1))
            let held = try await admin.latest(FanoutFilter(), atMost: 1)[0]
            #expect(held.record.state == .paused)
            #expect(held.record.pausedAt != nil)
            #expect(held.standstill == nil)
            #expect(held.secondsLeft == nil)
            _ = try await servers.owner.run("UPDATE fanouts SET trouble = 'unknown-type' WHERE event_id = 'e1'")
            _ = try await admin.perform(.resume, on: FanoutFilter(), agreed: 9, by: Self.ada)
            let resumed = try await admin.latest(FanoutFilter(), atMost: 1)[0].record
            #expect(resumed.state == .running)
            #expect(resumed.trouble == nil)
            #expect(resumed.pausedAt == nil)
            #expect(resumed.progress.resumedUsers == 600)
            #expect(resumed.rate(at: resumed.progress.resumedAt) == nil)
            let audit = try await servers.column(
                "SELECT concat_ws(' ', operator, act, filter ->> 'event', items, because) FROM audit ORDER BY number"
            )
            #expect(audit == ["ada fanout-pause e1 1 a tour", "ada fanout-resume e1 1 a tour"])
        }
    }

    @Test("an action on more fan-outs than agreed changes nothing and writes no audit record")
    func agreed() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.addFanout("e1")
            _ = try await servers.addFanout("e2")
            let outcome = try await Self.admin(servers).perform(.cancel, on: FanoutFilter(), agreed: 1, by: Self.ada)
            #expect(outcome == .moreThanAgreed(items: 2))
            #expect(try await servers.count("SELECT count(*) FROM fanouts WHERE state = 'running'") == 2)
            #expect(try await servers.count("SELECT count(*) FROM audit") == 0)
        }
    }

    @Test("a cancel drops pages that no worker has taken and lets the taken page finish")
    func cancelling() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addFollowers(10)
            let number = try await servers.addFanout("e1", plannedTo: "u00005", planned: [true, false, false])
            _ = try await Self.admin(servers).perform(.cancel, on: FanoutFilter(), agreed: 1, by: Self.ada)
            #expect(try await servers.column("SELECT page::text FROM fanout_pages") == ["3"])
            let page = FanoutPage(fanout: number, page: 3, priority: .normal)
            var tally = PageCounts()
            tally.users = 5
            let next = try await WorkerStore(pool: servers.pool, usersPerPage: 2).finish(page, tally)
            #expect(next.isEmpty)
            let record = try await Self.admin(servers).latest(FanoutFilter(), atMost: 1)[0]
            #expect(record.record.state == .cancelled)
            #expect(record.record.progress.users == 5)
            #expect(record.left == 0)
            #expect(try await servers.count("SELECT count(*) FROM fanout_pages") == 0)
        }
    }

    @Test("a page of a cancelled fan-out whose worker died is deleted when its message is redelivered")
    func cancelledPage() async throws {
        try await ServerFixture.withSchema { servers in
            let number = try await servers.addFanout("e1", state: .cancelled, planned: [true])
            let page = FanoutPage(fanout: number, page: 3, priority: .normal)
            let taken = try await WorkerStore(pool: servers.pool).take(page, as: .fresh, redelivered: true)
            guard case .over = taken else {
                Issue.record("the page of a cancelled fan-out was to be worked on")
                return
            }
            #expect(try await servers.count("SELECT count(*) FROM fanout_pages") == 0)
        }
    }

    @Test("a cancel waits for a worker that plans pages and drops those pages")
    func cancellingBesideAWorker() async throws {
        try await ServerFixture.withSchema { servers in
            let number = try await servers.addFanout("e1", plannedTo: "u00005")
            let plans = """
                WITH held AS (SELECT number FROM fanouts WHERE number = \(number) FOR NO KEY UPDATE)
                INSERT INTO fanout_pages (fanout, page, after, upto) SELECT number, 9, '', 'z' FROM held
                """
            let cancelling = try await RowLock.hold(on: servers, plans) {
                let task = Task {
                    try await Self.admin(servers).perform(.cancel, on: FanoutFilter(), agreed: 1, by: Self.ada)
                }
                try await eventually("the cancel waits for the worker") {
                    try await servers.count(Self.waiting) == 1
                }
                return task
            }
            #expect(try await cancelling.value == .done(items: 1))
            #expect(try await servers.count("SELECT count(*) FROM fanout_pages") == 0)
        }
    }

    @Test("the gauge separates apps and states and shows the longest stall")
    func gauge() async throws {
        try await ServerFixture.withSchema { servers in
            for (event, state) in [("e1", FanoutState.running), ("e2", .running), ("e3", .paused), ("e4", .finished)] {
                _ = try await servers.addFanout(event, state: state)
            }
            _ = try await servers.owner.run(
                """
                UPDATE fanouts SET worked_at = now() - interval '10 min', resumed_at = now() - interval '10 min'
                WHERE event_id IN ('e2', 'e3')
                """
            )
            let groups = try await FanoutStatistics(of: servers.pool).groups.sorted { $0.count > $1.count }
            #expect(groups.map(\.state) == [.running, .paused])
            #expect(groups.map(\.count) == [2, 1])
            #expect(groups[0].standstill > 590)
            #expect(groups[1].standstill == 0)
            let stalled = try await Self.admin(servers).latest(FanoutFilter(), atMost: 9).filter(\.isStalled)
            #expect(stalled.map(\.record.event) == ["e2"])
        }
    }

    private static let ada = ActingOperator(name: "ada", because: "a tour")

    private static let waiting = """
        SELECT count(*) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%fanouts f SET state = ''cancelled''%'
          AND pid <> pg_backend_pid()
        """

    /// Returns the operator's access with the owner's rights in place of an admin's.
    private static func admin(_ servers: ServerFixture) throws -> FanoutAdmin { FanoutAdmin(pool: servers.owner) }
}
