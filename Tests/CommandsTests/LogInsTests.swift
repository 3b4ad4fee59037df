import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands

/// The script that creates the containers' log-ins, on a separate database; the log-ins belong to the whole server.
@Suite(
    "Log-ins of containers",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest),
    .serialized
)
struct LogInsTests {
    private static let logIns = [
        "owner": "bellhop_owner", "worker": "bellhop_w1", "scheduler": "bellhop_s1", "api": "bellhop_a1",
        "console": "bellhop_c1",
    ]

    /// Runs statements, some of which create or drop a database.
    ///
    /// These take a checkpoint, whose duration depends on the load of the disk.
    private static func execute(_ statements: [String]) async throws {
        var options = PoolOptions(url: try DatabaseURL(try #require(Servers.databaseURL)))
        options.statementTimeout = LongestWait.duration
        let pool = PostgresPool(options)
        do {
            for statement in statements {
                try await pool.withConnection { (connection) throws(PostgresError) in try connection.execute(statement)
                }
            }
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }

    /// Runs the script as the image of PostgreSQL does.
    private static func runScript(_ database: String, _ server: DatabaseURL, secrets: URL) throws {
        let script = Checkout.file("deploy/container/log-ins")
        for role in logIns.keys {
            try Data("password-of-\(role)\n".utf8).write(to: secrets.appendingPathComponent("database_\(role)"))
        }
        let process = Process()
        process.executableURL = script
        process.environment = [
            "PATH": "/usr/bin:/bin", "SECRETS_FOLDER": secrets.path, "POSTGRES_DB": database,
            "POSTGRES_USER": server["user"] ?? "", "PGPASSWORD": server["password"] ?? "",
            "PGHOST": server["host"] ?? "", "PGPORT": server["port"] ?? "",
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private static func url(_ role: String, _ database: String, _ server: DatabaseURL) -> String {
        let place = "\(server["host"] ?? ""):\(server["port"] ?? "5432")/\(database)"
        return "postgres://\(logIns[role] ?? ""):password-of-\(role)@\(place)"
    }

    /// Returns the errors of these statements for a log-in.
    private static func attempt(_ statements: [String], at url: String) async throws -> [SQLState?] {
        let pool = PostgresPool(PoolOptions(url: try DatabaseURL(url)))
        var answers: [SQLState?] = []
        for statement in statements {
            do throws(PostgresError) {
                try await pool.withConnection { (connection) throws(PostgresError) in try connection.execute(statement)
                }
                answers.append(nil)
            } catch {
                answers.append(error.sqlState)
            }
        }
        await pool.close()
        return answers
    }

    @Test("the owner migrates, worker and scheduler have their role, and RESET ROLE gives no further rights")
    func rights() async throws {
        let server = try DatabaseURL(try #require(Servers.databaseURL))
        let database = Servers.uniqueName("logins")
        let clearing =
            ["DROP DATABASE IF EXISTS \(database) WITH (FORCE)"]
            + Self.logIns.values.map {
                "DROP ROLE IF EXISTS \($0)"
            }
        try await Self.execute(clearing + ["CREATE DATABASE \(database)"])
        try await CommandFolder.withPrompt { prompt, folder in
            try Self.runScript(database, server, secrets: folder)
            let namespace = "bellhop"
            let owner = prompt.with("BELLHOP_DATABASE_URL", Self.url("owner", database, server))
            let migrated = await owner.run("migrate")
            #expect(migrated.code == .done)
            let stale = await owner.run("revoke-stale", "--days", "90")
            #expect(stale.code == .done)
            for role in ["worker", "scheduler"] {
                let url = Self.url(role, database, server)
                let allowed = [
                    "SET ROLE bellhop_worker", "SELECT count(*) FROM \(namespace).notifications",
                    "INSERT INTO \(namespace).recipients (app, user_id, source_time) VALUES ('drop', '\(role)', now())",
                    // Checks the work of triggers with the owner's rights, to which row-level security applies.
                    "SELECT 1 / count(*) FROM \(namespace).people WHERE user_id = '\(role)'",
                ]
                #expect(try await Self.attempt(allowed, at: url).allSatisfy { $0 == nil })
                let forbidden = [
                    "SET ROLE bellhop_worker; RESET ROLE; DROP TABLE \(namespace).inbox",
                    "SET ROLE bellhop_admin", "SET ROLE bellhop_owner", "CREATE TEMPORARY TABLE t (a int)",
                    "CREATE SCHEMA s", "DELETE FROM \(namespace).schema_migrations",
                ]
                let answers = try await Self.attempt(forbidden, at: url)
                #expect(Set(answers) == [.privilegeMissing])
            }
            let beyond = [
                "SET ROLE bellhop_worker", "SELECT 1 FROM \(namespace).ledger", "SELECT 1 FROM \(namespace).events",
                "CREATE TEMPORARY TABLE t (a int)",
            ]
            let api = Self.url("api", database, server)
            #expect(Set(try await Self.attempt(beyond, at: api)) == [.privilegeMissing])
            let own = ["SET ROLE bellhop_api", "SELECT 1 FROM \(namespace).notifications"]
            #expect(try await Self.attempt(own, at: api).allSatisfy { $0 == nil })
            let admin = [
                "SET ROLE bellhop_admin", "SELECT 1 FROM \(namespace).dead_letters",
                "SELECT 1 FROM \(namespace).audit",
            ]
            let console = Self.url("console", database, server)
            #expect(try await Self.attempt(admin, at: console).allSatisfy { $0 == nil })
        }
        try await Self.execute(clearing)
    }

    @Test("docker-compose.yml gives each service a separate log-in, and the superuser's to none")
    func compose() throws {
        let file = Checkout.file("docker-compose.yml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let services = text.split(separator: "\n\n").map(String.init)
        let logIns = [
            ("setup", "owner"), ("worker", "worker"), ("scheduler", "scheduler"), ("api", "api"),
            ("console", "console"),
        ]
        for (service, role) in logIns {
            let found = services.first { $0.contains("  \(service):\n    <<: *bellhop\n") }
            let words = try #require(found)
            let source = "source: database_url_\(role)\n"
            #expect(words.contains(source))
        }
        #expect(text.contains("./deploy/container/log-ins:/docker-entrypoint-initdb.d/"))
        #expect(!text.contains("9464:"))
    }
}
