import BellhopJSON
import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Store

/// The verbs of `bellhop hold`.
enum HoldVerb: String, CommandVerb, Sendable {
    case list
    case add
    case release
    case discard

    /// The usage on the command line.
    var usage: String {
        switch self {
        case .list: "[list] [--app A] [--json]"
        case .add: "add --app A [--type T] [--provider P] [--by NAME] [--because TEXT] [--json]"
        case .release: "release NUMBER|--app A [--type T] [--provider P] [--yes] [--by NAME] [--because TEXT] [--json]"
        case .discard: "discard NUMBER|--app A [--type T] [--provider P] [--event ID] [--dry-run] [--yes] …"
        }
    }

    /// The options that the verb accepts.
    var options: Set<String> {
        let act: Set<String> = ["app", "type", "provider", "by", "because", "json"]
        return switch self {
        case .list: ["app", "json"]
        case .add: act
        case .release: act.union(["yes"])
        case .discard: act.union(["event", "dry-run", "yes"])
        }
    }
}

extension HoldVerb {
    /// The description, in one or two sentences.
    private var purpose: String {
        switch self {
        case .list: "Lists holds with start, operator, reason and number of held deliveries."
        case .add: "Holds an app, type or provider, and waits at most 5 s for all workers; inboxes still update."
        case .release: "Releases a hold; held deliveries are sent in order. Asks for their number from 10 on."
        case .discard: "Discards held deliveries; the notifications stay in the app."
        }
    }

    private var example: String {
        switch self {
        case .list: "list --app drop"
        case .add: "add --app drop --type campaign --because \"wrong prices\""
        case .release: "release 3 --because \"the prices are right\""
        case .discard: "discard 3 --event offer-17 --because \"recalled\""
        }
    }

    /// The complete text of `--help` for the verb.
    var help: String { HoldCommand.help(verb: usage, purpose, options: options, example: example) }
}

/// The command `bellhop hold`, which stops the sends of an app, an event type or a provider.
enum HoldCommand: Command {
    static let name = "hold"
    static let summary = "Holds sends for an app, type or provider until released; order is kept."
    static let synopsis = HoldVerb.allCases.map { "hold \($0.usage)" }
    static let options = [
        Option.taking("app", "A", "of this app"),
        .taking("type", "T", "only events of this type"),
        .taking("provider", "P", "only through this provider: \(CheckedProvider.list)"),
        .taking("event", "ID", "discard: only deliveries of this event"),
        .switch("dry-run", "discard: show the number of deliveries, and change nothing"),
        .switch("yes", "release, discard: skip the confirmation prompt"),
        .taking("by", "NAME", "operator name for the audit (default: system user)"),
        .taking("because", "TEXT", "reason for the audit and the list; prompted for on a terminal"),
        .json,
    ]

    static func help(for words: [String]) -> String {
        words.lazy.compactMap(HoldVerb.init(rawValue:)).first?.help ?? help
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let verb = try call.words.verb(usually: HoldVerb.list)
        return try await call.withOperations("\(name) \(verb.rawValue)", isAct: verb.isAct) { context in
            let session = HoldSession(call: call, operations: HoldOperations(context))
            return switch verb {
            case .list: try await session.list()
            case .add: try await session.add()
            case .release: try await session.release()
            case .discard: try await session.discard()
            }
        }
    }
}
