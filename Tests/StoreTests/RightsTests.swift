import Postgres
import Store
import TestSupport
import Testing
import Workbench

@Suite(
    "Rights",
    .inTurn,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.minutes(5))
)
struct RightsTests {
    @Test("a signed-in user reaches only their own rows, and nobody reaches anything without saying who they are")
    func rowLevelSecurity() async throws {
        try await Bench.withSchema { bench in
            _ = try await Inbox(pool: bench.pool).record(
                try bench.records(id: "e1", users: ["u1", "u2"], title: "Hei")
            )
            let api = try Bench.makePool(setUp: bench.namespace.setUp(as: .api))
            let nobody = try await api.run("SELECT user_id FROM notifications")
            let own = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                return try connection.run("SELECT user_id FROM notifications").text(0, 0)
            }
            let marked = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                return try connection.run("UPDATE notifications SET read_at = now() RETURNING user_id").count
            }
            let afterwards = try await api.run("SELECT user_id FROM notifications")
            await api.close()
            #expect(nobody.isEmpty)
            #expect(own == "u1")
            #expect(marked == 1)
            #expect(afterwards.isEmpty, "the user before must not leak through the pool")
        }
    }

    @Test("the API may mark as read and may not write, rewrite or delete notifications, nor write for others")
    func apiRights() async throws {
        try await Bench.withSchema { bench in
            _ = try await Inbox(pool: bench.pool).record(try bench.records(id: "e1", users: ["u1"], title: "Hei"))
            let api = try Bench.makePool(setUp: bench.namespace.setUp(as: .api))
            let forbidden: [Statement] = [
                "UPDATE notifications SET title = 'x'", "DELETE FROM notifications", "SELECT 1 FROM dead_letters",
                "SELECT 1 FROM events", "SELECT 1 FROM tombstones",
                "INSERT INTO follows (app, topic, user_id, since, source_time) VALUES ('drop', 't', 'u2', now(), now())",
            ]
            for statement in forbidden {
                await #expect(throws: PostgresError.self, "\(statement.sql)") {
                    try await api.transaction { (connection) throws(PostgresError) in
                        try connection.signIn("drop", "u1")
                        return try connection.run(statement).count
                    }
                }
            }
            await api.close()
        }
    }

    @Test("none of the roles escapes row-level security")
    func noBypass() async throws {
        try await Bench.withSchema { bench in
            let escaping = try await bench.count(
                "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'bellhop\\_%' AND (rolbypassrls OR rolsuper)"
            )
            #expect(escaping == 0)
        }
    }
}

extension PostgresConnection {
    fileprivate func signIn(_ app: String, _ user: String) throws(PostgresError) {
        _ = try run(
            "SELECT set_config('bellhop.app', $1, true), set_config('bellhop.user', $2, true)",
            [.text(app), .text(user)]
        )
    }
}
