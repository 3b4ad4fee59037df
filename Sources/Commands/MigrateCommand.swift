import CLI
import Pipeline
import Postgres
import Roles
import ServiceRuntime
import Store

/// The command `bellhop migrate [--check] [--partitions N]`.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "Applies pending schema migrations; safe to repeat and to run concurrently."
    static let synopsis = ["migrate [--check] [--partitions N]"]
    static let options = [
        Option.switch(
            "check",
            "change nothing; say what is pending, and which programs may run; exit 1 if a migration is pending"
        ),
        Option.taking(
            "partitions",
            "N",
            "over how many tables inbox and ledger are spread when they are made: 0 (usual), 8 or 64"
        ),
    ]

    /// The accepted values of `--partitions`.
    ///
    /// Other values were not measured.
    private static let layouts = [0, 8, 64]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let partitions = try call.words.number("partitions", in: 0...64)
        if let partitions, !layouts.contains(partitions) {
            throw call.words.misuse("--partitions takes 0, 8 or 64, not \(partitions)")
        }
        let setup = try call.setup(requiring: [.databaseURL], reading: [])
        // Another machine may be migrating. In that case the command waits for its lock.
        let isCheck = call.words.has("check")
        return try await reaching(
            for: isCheck ? "looking at the schema" : "migrating the schema",
            isAct: !isCheck,
            whatToDo: "bring the database back, then run it again: what is applied is whole"
        ) {
            try await setup.withPool(as: nil, name: name, patience: .seconds(600)) { pool in
                let migrator = Migrator(pool: pool, namespace: setup.configuration.namespace)
                return try await isCheck ? check(migrator, call.shell) : migrate(migrator, partitions, call.shell)
            }
        }
    }

    private static func migrate(
        _ migrator: Migrator,
        _ partitions: Int?,
        _ shell: CommandEnvironment
    ) async throws -> ExitCode {
        switch try await migrator.migrate(partitions: partitions) {
        case .applied(let names) where names.isEmpty: shell.print(try await migrator.check().words)
        case .applied(let names): shell.print("applied \(names.joined(separator: ", "))")
        case .refused(let why):
            throw failure(
                .configuration,
                why,
                partitions == nil
                    ? "run the matching release"
                    : "run the matching release, or leave --partitions out; docs/scaling.md says how to move to others"
            )
        case .postponed(let why):
            throw failure(.tryAgain, why, "end the blocking sessions and run it again; applied migrations are complete")
        }
        try await sayWhoMayRun(migrator, shell)
        try await sayWhatLocksNeed(migrator, shell)
        return .done
    }

    private static func failure(_ code: ExitCode, _ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(code, attempted: "migrating the schema", cameBack: cameBack, whatToDo: whatToDo)
    }

    private static func check(_ migrator: Migrator, _ shell: CommandEnvironment) async throws -> ExitCode {
        let status = try await migrator.check()
        shell.print(status.words)
        try await sayWhoMayRun(migrator, shell)
        try await sayWhatLocksNeed(migrator, shell)
        return status.isAdmitted ? .done : .answerIsNo
    }

    /// Prints the lock table size that the partitions require of the server, whether or not the server has it already.
    private static func sayWhatLocksNeed(_ migrator: Migrator, _ shell: CommandEnvironment) async throws {
        let locks = try await migrator.lockTable()
        guard locks.partitions > 0 else { return }
        let needed = LockTable.needed(for: locks.partitions)
        let advice = locks.lacking == nil ? "" : ": raise it and restart the server"
        shell.print(
            "\(locks.partitions) partitions require max_locks_per_transaction >= \(needed), "
                + "the server has \(locks.entries)\(advice)"
        )
    }

    /// Prints the information that an upgrade needs: the programs that may run together on the present schema, and on
    /// the schema after the pending migrations.
    private static func sayWhoMayRun(_ migrator: Migrator, _ shell: CommandEnvironment) async throws {
        let own = Migration.all.schemaNumber
        if let version = try await migrator.version() {
            shell.print("the schema is \(version.number), and programs for schema \(version.admitted) may run on it")
            let next = version.after(Migration.all)
            if next != version {
                shell.print(
                    "with the pending migrations it is \(own), and programs for schema \(next.admitted) may run on it"
                )
            }
        }
        shell.print("this program is for schema \(own), and reads messages up to form \(MessageVersion.newest)")
    }
}

extension Migrator.Status {
    fileprivate var words: String {
        switch self {
        case .current: "the schema is up to date"
        case .ahead(let names):
            "the schema is that of a newer program, with which this one is compatible: \(names.joined(separator: ", "))"
        case .pending(let names): "pending: \(names.joined(separator: ", "))"
        case .diverged(let why): "diverged: \(why)"
        }
    }
}
