import Postgres
import ServiceRuntime
import Store

/// The command `bellhop migrate [--check]`.
struct MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "Brings the database schema up to date; safe to run twice and from two machines at once."
    static let synopsis = ["migrate [--check]"]
    static let options = [Option.switch("check", "change nothing; exit 1 if a migration is pending")]

    private let words: Words

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.databaseURL])
        let pool = try Footing(configuration: configuration).pool(
            // Another machine may be migrating: its lock is waited for.
            as: nil,
            name: "migrate",
            size: 1,
            patience: .seconds(600)
        )
        let migrator = Migrator(pool: pool, namespace: configuration.namespace)
        do {
            let code =
                words.has("check") ? try await check(migrator, surroundings) : try await migrate(migrator, surroundings)
            await pool.close()
            return code
        } catch {
            await pool.close()
            throw error
        }
    }

    private func migrate(_ migrator: Migrator, _ surroundings: Surroundings) async throws -> ExitCode {
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

    private func check(_ migrator: Migrator, _ surroundings: Surroundings) async throws -> ExitCode {
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

extension Words {
    func expectNoOperands(of command: String) throws(CommandFailure) {
        guard let first = operands.first else { return }
        throw .usage(of: command, "it takes no operand, found \(first)")
    }
}
