import BellhopJSON
import CLI
import Operations
import ServiceRuntime
import Store

/// The verbs of `bellhop fanouts`.
enum FanoutVerb: String, CommandVerb, Sendable {
    case list
    case show
    case listUsers = "list-users"
    case stop
    case pause
    case resume
    case cancel

    /// The usage on the command line.
    var usage: String {
        switch self {
        case .list: "[list] [FILTER] [--state S] [--limit N] [--json]"
        case .show: "show NUMBER|--event ID [--app A] [--json]"
        case .listUsers: "list-users NUMBER|--event ID [--app A] [--sent] [--json]"
        case .stop: "stop NUMBER|--event ID [--app A] [--by NAME] [--because TEXT] [--json]"
        case .resume: "resume [NUMBER …] [FILTER] [--release] [--dry-run] [--yes] [--by NAME] [--because TEXT] [--json]"
        case .pause, .cancel:
            "\(rawValue) [NUMBER …] [FILTER] [--dry-run] [--yes] [--by NAME] [--because TEXT] [--json]"
        }
    }

    /// The options that the verb accepts.
    var options: Set<String> {
        switch self {
        case .list: FanoutsCommand.filters.union(["state", "limit", "json"])
        case .show: ["app", "event", "json"]
        case .listUsers: ["app", "event", "sent", "json"]
        case .stop: ["app", "event", "by", "because", "json"]
        case .pause, .cancel: FanoutsCommand.filters.union(["dry-run", "yes", "by", "because", "json"])
        case .resume: FanoutsCommand.filters.union(["release", "dry-run", "yes", "by", "because", "json"])
        }
    }

    /// The description, in one or two sentences.
    private var purpose: String {
        switch self {
        case .list: "Lists fan-outs, latest first: progress, rate and remaining work."
        case .show: "Shows one fan-out in detail, with the reason if it is stalled."
        case .listUsers: "Lists the users whom a fan-out has reached, with the outcome of their pushes."
        case .stop: "Stops a campaign: pauses its fan-out and holds its type, so that no further send begins."
        case .pause: "Pauses fan-outs immediately; pages in progress complete, and recorded pushes are still sent."
        case .resume: "Resumes paused fan-outs; --release also releases the hold of a stopped campaign."
        case .cancel: "Cancels fan-outs permanently; notifications in the app stay, and recorded pushes are still sent."
        }
    }

    private var example: String {
        switch self {
        case .list: "list --app venues --state running"
        case .show: "show 12"
        case .listUsers: "list-users 12 --sent"
        case .stop: "stop 12 --because \"wrong prices\""
        case .pause: "pause 12 --because \"wrong words\""
        case .resume: "resume 12 --because \"they are right\""
        case .cancel: "cancel --event offer-17 --because \"recalled\""
        }
    }

    /// The complete text of `--help` for the verb.
    var help: String { FanoutsCommand.help(verb: usage, purpose, options: options, example: example) }
}

/// The command `bellhop fanouts`.
///
/// It shows, pauses and cancels the delivery of events to large audiences.
enum FanoutsCommand: Command {
    static let name = "fanouts"
    static let summary = "Shows the progress of fan-outs; stops, pauses, resumes or cancels them."
    static let synopsis = FanoutVerb.allCases.map { "fanouts \($0.usage)" }
    static let options =
        filterOptions + [
            .taking("state", "S", "list: running, paused, cancelled or finished; all unless given"),
            .taking("limit", "N", "list: only so many (50)"),
            .switch("release", "resume: also release the hold that stop placed, of a finished fan-out as well"),
            .switch("sent", "list-users: only users to whom something was sent, or may have been"),
            .switch("dry-run", "list the selected fan-outs, and change nothing"),
            .switch("yes", "skip the confirmation prompt"),
            .taking("by", "NAME", "operator name for the audit (default: system user)"),
            .taking("because", "TEXT", "reason for the audit; prompted for on a terminal"),
            .json,
        ]

    private static let filterOptions = [
        Option.taking("app", "A", "of this app"),
        Option.taking("event", "ID", "of this event"),
        Option.taking("type", "T", "of this event type"),
        Option.taking("topic", "T", "to this topic, such as venue:42"),
    ]

    static let filters = Set(filterOptions.map(\.name))

    static func help(for words: [String]) -> String {
        words.lazy.compactMap(FanoutVerb.init(rawValue:)).first?.help ?? help
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let verb = try call.words.verb(usually: FanoutVerb.list)
        return try await call.withOperations("\(name) \(verb.rawValue)", isAct: verb.isAct) { context in
            let session = FanoutSession(call: call, verb: verb, operations: FanoutOperations(context))
            return switch verb {
            case .list: try await session.list()
            case .show: try await session.show()
            case .listUsers: try await session.listUsers()
            case .stop: try await session.stop()
            case .pause: try await session.perform(.pause)
            case .resume: try await session.perform(.resume)
            case .cancel: try await session.perform(.cancel)
            }
        }
    }
}
