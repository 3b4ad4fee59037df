import Postgres
import ServiceRuntime
import Store

/// The command `bellhop migrate [--check] [--partitions N]`.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "Brings the database schema up to date; safe to run twice and from two machines at once."
    static let synopsis = ["migrate [--check] [--partitions N]"]
    static let options = [
        Option.switch("check", "change nothing; exit 1 if a migration is pending"),
        Option.taking(
            "partitions",
            "N",
            "over how many tables inbox and ledger are spread when they are made: 0 (usual), 8 or 64"
        ),
    ]

    /// What is offered: nothing else was measured.
    private static let layouts = [0, 8, 64]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let partitions = try call.words.number("partitions", in: 0...64)
        if let partitions, !layouts.contains(partitions) {
            throw call.words.misuse("--partitions takes 0, 8 or 64, not \(partitions)")
        }
        let setup = try call.setup(requiring: [.databaseURL])
        // Another machine may be migrating: its lock is waited for.
        return try await setup.withPool(as: nil, name: name, patience: .seconds(600)) { pool in
            let migrator = Migrator(pool: pool, namespace: setup.configuration.namespace)
            let isCheck = call.words.has("check")
            return try await isCheck ? check(migrator, call.shell) : migrate(migrator, partitions, call.shell)
        }
    }

    private static func migrate(
        _ migrator: Migrator,
        _ partitions: Int?,
        _ shell: Shell
    ) async throws -> ExitCode {
        switch try await migrator.migrate(partitions: partitions) {
        case .applied(let names) where names.isEmpty: shell.print("the schema is up to date")
        case .applied(let names): shell.print("applied \(names.joined(separator: ", "))")
        case .refused(let why):
            throw CommandFailure(
                .configuration,
                attempted: "migrating the schema",
                cameBack: why,
                whatToDo: partitions == nil
                    ? "run the matching release"
                    : "run the matching release, or leave --partitions out; docs/scaling.md says how to move to others"
            )
        }
        return .done
    }

    private static func check(_ migrator: Migrator, _ shell: Shell) async throws -> ExitCode {
        switch try await migrator.check() {
        case .current:
            shell.print("the schema is up to date")
            return .done
        case .pending(let names): shell.print("pending: \(names.joined(separator: ", "))")
        case .diverged(let why): shell.print("diverged: \(why)")
        }
        return .answerIsNo
    }
}
