import BellhopRules
import IntegrationSupport
import Store
import Synchronization
import TestSupport
import Testing

@testable import API

@Suite("Order of a user's changes", .timeLimit(.ofTest))
struct ChangeTurnsTests {
    private func recipient(_ user: String) throws -> UserKey {
        UserKey(app: try #require(AppID(validating: "drop")), user: try #require(UserID(validating: user)))
    }

    /// Counts the changes that run at the same time.
    private final class Tally: Sendable {
        private let counts = Mutex<[Int]>([0, 0, 0])

        /// The current number, the highest number so far, and the number that have ended.
        var all: [Int] { counts.withLock { $0 } }

        func begin() {
            counts.withLock { $0 = [$0[0] + 1, max($0[1], $0[0] + 1), $0[2]] }
        }

        func end() {
            counts.withLock { $0 = [$0[0] - 1, $0[1], $0[2] + 1] }
        }
    }

    @Test("changes of one user run one at a time, and changes of another user do not wait for them")
    func turns() async throws {
        let (turns, ada, bob) = (ChangeTurns(), try recipient("ada"), try recipient("bob"))
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await turns.run(ada) {
                        tally.begin()
                        try await turns.run(bob) { await Task.yield() }
                        tally.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(tally.all == [0, 1, 20])
    }

    @Test("a change that fails lets the next change run")
    func failure() async throws {
        let (turns, ada) = (ChangeTurns(), try recipient("ada"))
        let failed = try? await turns.run(ada) { () -> Int in throw CancellationError() }
        #expect(failed == nil)
        let next = try await turns.run(ada) { true }
        #expect(next)
    }
}

@Suite(
    "Changes that wait in the database",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct WaitingChangeTests {
    @Test("waiting changes of one user use one database connection, and other users are answered")
    func connections() async throws {
        try await APIFixture.with { api in
            let user = Servers.uniqueName("waiting")
            let key = "hashtextextended('inbox drop \(user)', 1)"
            try await RowLock.hold(on: api.servers, "SELECT pg_advisory_xact_lock(\(key))") {
                let calls = (0..<6).map { _ in
                    Task { try await api.call("PATCH", "/api/notifications", #"{"all":true}"#, as: user) }
                }
                let waiting = """
                    SELECT count(*) FROM pg_locks
                    WHERE locktype = 'advisory' AND NOT granted AND (classid::bigint << 32 | objid::bigint) = \(key)
                    """
                try await eventually { try await api.servers.count(waiting) > 0 }
                for _ in 0..<10 {
                    #expect(try await api.call("GET", "/api/settings", as: "bob").status == 200)
                }
                #expect(try await api.servers.count(waiting) == 1)
                for call in calls { call.cancel() }
            }
        }
    }

    @Test("changes of a whole inbox have a separate limit, which changes of named notifications do not use")
    func wholeInboxes() async throws {
        let time = ManualSteadyTime()
        try await APIFixture.with(time: time) { api in
            let all = #"{"all":true}"#
            var statuses: [Int] = []
            for _ in 0..<6 { statuses.append(try await api.call("PATCH", "/api/notifications", all).status) }
            #expect(statuses == [200, 200, 200, 200, 200, 429])
            let refused = try await api.call("PATCH", "/api/notifications", all)
            #expect(refused.headers["Retry-After"] == "5")
            let named = #"{"notificationIds":["\#(APIFixture.id(1))"]}"#
            #expect(try await api.call("PATCH", "/api/notifications", named).status == 200)
            #expect(try await api.call("PATCH", "/api/notifications", all, as: "bob").status == 200)
            time.advance(by: .seconds(5))
            #expect(try await api.call("PATCH", "/api/notifications", all).status == 200)
        }
    }
}
