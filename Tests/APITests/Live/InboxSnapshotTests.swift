import Store
import TestSupport
import Testing

@Suite(
    "Snapshots of an inbox",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct InboxSnapshotTests {
    @Test("a snapshot's rows and count agree, however fast notifications change")
    func oneMoment() async throws {
        try await APIFixture.with { api in
            let ada = try api.recipient("ada")
            for number in 1...20 { try await api.notify(number) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for turn in 1...200 {
                        _ = try await api.servers.owner.run(
                            "UPDATE notifications SET read_at = CASE WHEN $1::bigint % 2 = 0 THEN NULL ELSE now() END",
                            [.integer(Int64(turn))]
                        )
                    }
                }
                group.addTask {
                    for _ in 1...400 {
                        let glimpse = try await api.users.glimpse(of: ada)
                        #expect(glimpse.rows.count == 20)
                        #expect(glimpse.rows.count { !$0.isRead } == glimpse.unread)
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
