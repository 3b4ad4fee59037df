import Postgres
import ServiceRuntime
import Store

/// The command `bellhop migrate [--check]`.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "Brings the database schema up to date; safe to run twice and from two machines at once."
    static let synopsis = ["migrate [--check]"]
    static let options = [Option.switch("check", "change nothing; exit 1 if a migration is pending")]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let footing = try call.footing(requiring: [.databaseURL])
        // Another machine may be migrating: its lock is waited for.
        return try await footing.withPool(as: nil, name: name, patience: .seconds(600)) { pool in
            let migrator = Migrator(pool: pool, namespace: footing.configuration.namespace)
            let isCheck = call.words.has("check")
            return try await isCheck ? check(migrator, call.surroundings) : migrate(migrator, call.surroundings)
        }
    }

    private static func migrate(_ migrator: Migrator, _ surroundings: Surroundings) async throws -> ExitCode {
        switch try await migrator.migrate() {
        case .applied(let names) where names.isEmpty: surroundings.print("the schema is up to date")
        case .applied(let names): surroundings.print("applied \(names.joined(separator: ", "))")
        case .refused(let why):
            throw CommandFailure(
                .configuration,
                attempted: "migrating the schema",
                cameBack: why,
                whatToDo: "run the matching release"
            )
        }
        return .done
    }

    private static func check(_ migrator: Migrator, _ surroundings: Surroundings) async throws -> ExitCode {
        switch try await migrator.check() {
        case .current:
            surroundings.print("the schema is up to date")
            return .done
        case .pending(let names): surroundings.print("pending: \(names.joined(separator: ", "))")
        case .diverged(let why): surroundings.print("diverged: \(why)")
        }
        return .answerIsNo
    }
}
