import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Rights",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DatabaseRoleTests {
    @Test("a signed-in user reaches only their own rows, and a session without a user reaches none")
    func rowLevelSecurity() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await WorkerStore(pool: servers.pool).record(
                try servers.records(id: "e1", users: ["u1", "u2"], title: "Hei")
            )
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let nobody = try await api.run("SELECT user_id FROM notifications")
            let own = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                return try connection.run("SELECT user_id FROM notifications").text(0, 0)
            }
            let marked = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                return try connection.run("UPDATE inbox SET read_at = now() RETURNING id").count
            }
            let afterwards = try await api.run("SELECT user_id FROM notifications")
            await api.close()
            #expect(nobody.isEmpty)
            #expect(own == "u1")
            #expect(marked == 1)
            #expect(afterwards.isEmpty, "the user before must not leak through the pool")
        }
    }

    @Test("the API can mark as read but cannot insert, edit or delete notifications or write for other users")
    func apiRights() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await WorkerStore(pool: servers.pool).record(
                try servers.records(id: "e1", users: ["u1"], title: "Hei")
            )
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let forbidden: [Statement] = [
                "UPDATE inbox SET title = 'x'", "DELETE FROM inbox",
                "INSERT INTO people (app, user_id) VALUES ('drop', 'u1')", "SELECT 1 FROM dead_letters",
                "SELECT 1 FROM events", "SELECT 1 FROM erasures",
                "DELETE FROM tombstones", "UPDATE people SET devices = '[]'",
                "INSERT INTO tombstones (app, subject_hash, deleted_at) VALUES ('padel', 'x', now())",
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

    @Test("a signed-in user finds neither the ledger nor other users' rows, whatever the names and search path")
    func qualifiedNames() async throws {
        try await ServerFixture.withSchema { servers in
            let records = try servers.sending(id: "e1", users: ["u1", "u2"])
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            let api = try ServerFixture.makePool(setUp: ["SET ROLE bellhop_api", "SET search_path TO pg_catalog"])
            let schema = servers.namespace
            let found = try await api.transaction { (connection) throws(PostgresError) in
                try connection.execute("CREATE TEMPORARY TABLE people AS SELECT 1::bigint AS number, 'drop' AS app")
                try connection.signIn("drop", "u2")
                let own = try connection.run(Statement("SELECT user_id FROM \(schema).notifications"))
                let people = try connection.run(Statement("SELECT user_id FROM \(schema).people"))
                return [try own.text(0, 0), "\(own.count)", try people.text(0, 0), "\(people.count)"]
            }
            #expect(found == ["u2", "1", "u2", "1"])
            for table in ["ledger", "deliveries"] {
                await #expect(throws: PostgresError.self) {
                    try await api.run(Statement("SELECT 1 FROM \(schema).\(table)"))
                }
            }
            await api.close()
        }
    }

    @Test("a signed-in user sees only their app's tombstone hashes")
    func tombstones() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO tombstones (app, subject_hash, deleted_at) VALUES ('drop', 'x', now()), ('padel', 'y', now())
                """
            )
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let nobody = try await api.run("SELECT app FROM tombstones").count
            let own = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                let rows = try connection.run("SELECT app FROM tombstones")
                return [try rows.text(0, 0), "\(rows.count)"]
            }
            await api.close()
            #expect(nobody == 0)
            #expect(own == ["drop", "1"])
        }
    }

    @Test("only the schema's owner attaches its trigger functions to a table, and no worker writes the views")
    func narrowRights() async throws {
        try await ServerFixture.withSchema { servers in
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            await #expect(throws: PostgresError.self) {
                try await api.withConnection { (connection) throws(PostgresError) in
                    try connection.execute(
                        """
                        CREATE TEMPORARY TABLE made_up (app text, user_id text);
                        CREATE TRIGGER t AFTER INSERT ON made_up REFERENCING NEW TABLE AS changed
                            FOR EACH STATEMENT EXECUTE FUNCTION note_people('user_id');
                        """
                    )
                }
            }
            await api.close()
            for statement in ["UPDATE notifications SET title = 'x'", "UPDATE deliveries SET state = 'delivered'"] {
                await #expect(throws: PostgresError.self) { try await servers.pool.run(Statement(statement)) }
            }
        }
    }

    @Test("functions with their owner's rights search temporary tables last")
    func trustedFunctions() async throws {
        try await ServerFixture.withSchema { servers in
            let paths = try await servers.column(
                """
                SELECT array_to_string(proconfig, ';') FROM pg_proc
                WHERE prosecdef AND pronamespace = '\(servers.namespace)'::regnamespace
                """
            )
            #expect(!paths.isEmpty)
            let right = "search_path=\(servers.namespace), pg_temp"
            for path in paths { #expect(path?.split(separator: ";").contains(right[...]) == true) }
        }
    }

    @Test("a temporary table of the same name intercepts nothing from a trigger of the owner")
    func temporaryTable() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await WorkerStore(pool: servers.pool).record(
                try servers.records(id: "e1", users: ["u1"], title: "Hei")
            )
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let caught = try await api.transaction { (connection) throws(PostgresError) in
                try connection.signIn("drop", "u1")
                try connection.execute(
                    """
                    CREATE TEMPORARY TABLE badge_updates (app text, user_id text, requested_at timestamptz,
                        handed_over_at timestamptz, PRIMARY KEY (app, user_id));
                    GRANT ALL ON pg_temp.badge_updates TO PUBLIC;
                    UPDATE inbox SET read_at = now();
                    """
                )
                return try connection.run("SELECT count(*) FROM pg_temp.badge_updates").integer(0, 0)
            }
            await api.close()
            #expect(caught == 0)
            #expect(try await servers.count("SELECT count(*) FROM badge_updates") == 1)
        }
    }

    @Test("the signed-in user is the one of the last sign-in, also if the transaction names the user itself")
    func signedIn() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await WorkerStore(pool: servers.pool).record(
                try servers.records(id: "e1", users: ["u1", "u2"], title: "Hei")
            )
            let numbers = try await servers.column("SELECT number::text FROM people ORDER BY user_id")
            let api = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .api))
            let seen = try await api.withConnection { (connection) throws(PostgresError) in
                let person: Statement = "SELECT (SELECT signed_in_person())::text, max(person)::text FROM inbox"
                let signIn: Statement = "SELECT sign_in('drop', $1, NULL, NULL)"
                let look = { () throws(PostgresError) -> [String?] in
                    let rows = try connection.run(person)
                    return [try rows.optionalText(0, 0), try rows.optionalText(0, 1)]
                }
                var seen = [try look()]
                seen += try connection.transaction { (connection) throws(PostgresError) in
                    var seen: [[String?]] = []
                    for user in ["u1", "u2", "stranger", "u1"] {
                        _ = try connection.run(signIn, [.text(user)])
                        seen.append(try look())
                    }
                    return seen
                }
                seen.append(try look())
                try connection.transaction { (connection) throws(PostgresError) in
                    try connection.signIn("drop", "u2")
                    seen.append(try look())
                }
                return seen + [try look()]
            }
            await api.close()
            let (first, second) = ([numbers[0], numbers[0]], [numbers[1], numbers[1]])
            let nobody: [String?] = [nil, nil]
            #expect(seen == [nobody, first, second, nobody, first, nobody, second, nobody])
        }
    }

    @Test("the audit stores the log-in next to the given name, and no role can set the log-in")
    func auditedLogIn() async throws {
        try await ServerFixture.withSchema { servers in
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin))
            _ = try await admin.run(
                "INSERT INTO audit (operator, act, filter, items, because) VALUES ('somebody', 'note', '{}', 1, 'x')"
            )
            await #expect(throws: PostgresError.self) {
                try await admin.run(
                    """
                    INSERT INTO audit (operator, act, filter, items, because, login)
                    VALUES ('somebody', 'note', '{}', 1, 'x', 'another')
                    """
                )
            }
            let logIns = try await servers.column("SELECT login FROM audit")
            let own = try await servers.column("SELECT session_user::text")
            await admin.close()
            #expect(logIns == own)
        }
    }

    @Test("no role bypasses row-level security")
    func noBypass() async throws {
        try await ServerFixture.withSchema { servers in
            let escaping = try await servers.count(
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
