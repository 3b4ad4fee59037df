import AMQP
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop migrate and topology",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct SchemaCommandTests {
    @Test("migrate --check distinguishes a current schema from a missing one and changes nothing")
    func migrateCheck() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                #expect(await prompt.run("migrate", "--check").code == .done)
                let missing = prompt.with("BELLHOP_NAMESPACE", "no_such_namespace_here")
                for _ in 1...2 {
                    let answer = await missing.run("migrate", "--check")
                    #expect(answer.code == .answerIsNo)
                    #expect(answer.output.hasPrefix("pending: 0001_roles"))
                }
            }
        }
    }

    @Test("migrate reports the lock table's requirement for many partitions, and nothing without partitions")
    func locks() async throws {
        try await ServerFixture.withSchema(partitions: 64) { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let (migrated, checked) = (await prompt.run("migrate"), await prompt.run("migrate", "--check"))
                #expect(migrated.output.contains("64 partitions require max_locks_per_transaction >= 256"))
                #expect(checked.output.contains("64 partitions require max_locks_per_transaction >= 256"))
            }
        }
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let migrated = await prompt.run("migrate")
                #expect(!migrated.output.contains("max_locks_per_transaction"))
            }
        }
    }

    @Test("a lock table is too small only below four entries per partition")
    func lockTable() {
        #expect(LockTable(partitions: 64, entries: 64).lacking == 256)
        #expect(LockTable(partitions: 64, entries: 256).lacking == nil)
        #expect(LockTable(partitions: 8, entries: 64).lacking == nil)
        #expect(LockTable(partitions: 0, entries: 10).lacking == nil)
    }

    @Test("topology check succeeds after apply and names objects that have disappeared since")
    func topologyCheck() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let applied = await prompt.run("topology", "apply")
                #expect(applied.code == .done)
                #expect(applied.output.contains("6 event types and 10 keys of feeds and cancellations"))
                #expect(await prompt.run("topology", "check").code == .done)
                try await BrokerSession.with(try servers.broker, name: "test") { [names = servers.names] session in
                    _ = try session.deleteQueue(names.replay)
                }
                let answer = await prompt.run("topology", "check")
                #expect(answer.code == .answerIsNo)
                #expect(answer.output == "queue \(servers.names.replay) is missing")
            }
        }
    }

    @Test("a log-in without the role exits with 78 and the advice to grant it")
    func noRole() async throws {
        let name = Servers.uniqueName("bellhop_test")
        var url = try #require(URLComponents(string: Servers.databaseURL ?? ""))
        let password = url.password ?? "unused"
        url.user = name
        let stranger = try #require(url.string)
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute("CREATE ROLE \(name) LOGIN PASSWORD '\(password)'")
            }
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let answer = await prompt.with("BELLHOP_DATABASE_URL", stranger).run("topology", "check")
                #expect(answer.code == .configuration)
                #expect(answer.complaints.contains("grant the role"), "\(answer.complaints)")
            }
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute("DROP ROLE \(name)")
            }
        }
    }

    @Test("a missing database exits with 69, and a rejected log-in with 78")
    func noDatabase() async throws {
        let prompt = Prompt().with("BELLHOP_DATABASE_URL", "postgres://127.0.0.1:1/none")
        #expect(await prompt.run("migrate", "--check").code == .unavailable)
        var url = try #require(URLComponents(string: Servers.databaseURL ?? ""))
        url.path = "/no_such_database"
        let answer = await Prompt().with("BELLHOP_DATABASE_URL", try #require(url.string)).run("migrate", "--check")
        #expect(answer.code == .configuration)
        #expect(answer.complaints.contains("check BELLHOP_DATABASE_URL"))
    }
}
