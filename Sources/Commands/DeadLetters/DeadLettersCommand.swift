import BellhopJSON
import CLI
import Operations
import Roles
import ServiceRuntime
import Settings

/// The command `bellhop dead-letters`, the on-call engineer's tool for dead letters.
enum DeadLettersCommand: Command {
    static let name = "dead-letters"
    static let alias: String? = "dlq"
    static let summary = "Lists, replays, edits and discards dead letters (alias: dlq)."
    static let synopsis = DeadLetterVerb.allCases.map { "dead-letters \($0.usage)" }
    static let options = DeadLetterOptions.all

    static func help(for words: [String]) -> String {
        words.lazy.compactMap(DeadLetterVerb.init(rawValue:)).first?.help ?? help
    }

    static func run(_ call: Call) async throws -> ExitCode {
        var words = call.words
        let verb = try verb(words)
        // From here on usage errors name the verb.
        words.command = "\(name) \(verb.rawValue)"
        let call = Call(words: words, shell: call.shell, commands: call.commands)
        let required: Set<Setting> = words.has("from-queue") ? [.amqpURL] : [.databaseURL]
        // A message is shown with its body only if the audit records the reason.
        let isAct = verb.options(words).contains("because") && (verb != .show || words.has("reveal"))
        let request = DeadLetterRequest(call: call, verb: verb, setup: try call.setup(requiring: required))
        do {
            if words.has("from-queue") {
                return try await reaching(
                    for: "\(verb.rawValue) of the dead letters in the broker's queue",
                    isAct: isAct,
                    whatToDo: "bring the broker back; stored dead letters are shown without --from-queue"
                ) { try await DeadLetterQueueSession(request).run() }
            }
            return try await reaching(
                for: "\(verb.rawValue) of dead letters",
                isAct: isAct,
                whatToDo:
                    "bring the database back (docs/runbooks/database.md); meanwhile bellhop dead-letters --from-queue "
                    + "list, export and replay work on the broker's queue alone"
            ) { try await attend(to: request) }
        } catch let error as OperationError {
            throw CommandFailure(error, words)
        }
    }

    private static func attend(to request: DeadLetterRequest) async throws -> ExitCode {
        let setup = request.setup
        return try await setup.withPool(as: .admin, name: name, size: 2, patience: .seconds(120)) { pool in
            let session = DeadLetterSession(request, request.call.operationsContext(setup, pool.forOneOperation()))
            return switch request.verb {
            case .groups: try await session.groups()
            case .list: try await session.list()
            case .show: try await session.show()
            case .replay: try await session.replay()
            case .replays: try await session.listReplays()
            case .pause: try await session.control(.pause)
            case .resume: try await session.control(.resume)
            case .cancel: try await session.control(.cancel)
            case .edit: try await session.edit()
            case .export: try await session.export()
            case .import: try await session.importLetters()
            case .note: try await session.act(.note)
            case .discard: try await session.act(.discard)
            case .restore: try await session.act(.restore)
            case .undo: try await session.undo()
            case .audit: try await session.audit()
            }
        }
    }

    private static func verb(_ words: Words) throws(CommandFailure) -> DeadLetterVerb {
        guard let name = words.operands.first else {
            let verbs = DeadLetterVerb.allCases.map(\.rawValue).joined(separator: ", ")
            throw words.misuse("expected one of \(verbs)")
        }
        guard let verb = DeadLetterVerb(rawValue: name) else {
            throw words.misuse(
                "it cannot \(name)" + NearestName.hint(name, among: DeadLetterVerb.allCases.map(\.rawValue))
            )
        }
        // An option that the verb would ignore is an error, since it may be a costly mistake.
        if let stray = words.given.subtracting(verb.options(words)).min() {
            let place = words.has("from-queue") && stray != "from-queue" ? "with --from-queue \(name)" : name
            throw words.misuse("\(place) has no option --\(stray)")
        }
        return verb
    }
}
