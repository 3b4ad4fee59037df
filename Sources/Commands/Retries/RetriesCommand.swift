import BellhopJSON
import CLI
import Operations
import ServiceRuntime
import Store

/// The verbs of `bellhop retries`.
enum RetryVerb: String, CommandVerb, Sendable {
    case list
    case bringForward = "bring-forward"

    /// The usage on the command line.
    var usage: String {
        switch self {
        case .list: "[list] [--app A] [--json]"
        case .bringForward: "bring-forward --app A --provider P [--yes] [--by NAME] [--because TEXT] [--json]"
        }
    }

    /// The options that the verb accepts.
    var options: Set<String> {
        switch self {
        case .list: ["app", "json"]
        case .bringForward: ["app", "provider", "yes", "by", "because", "json"]
        }
    }

    private var purpose: String {
        switch self {
        case .list: "Lists the deliveries that wait for another attempt, by app and provider."
        case .bringForward:
            "Sends retries of an outage now, 200 users per second. Asks for their number from 10 on. Waits for a rate limit stay."
        }
    }

    private var example: String {
        switch self {
        case .list: "list --app drop"
        case .bringForward: "bring-forward --app drop --provider fcm --because \"FCM works again\""
        }
    }

    /// The complete text of `--help` for the verb.
    var help: String { RetriesCommand.help(verb: usage, purpose, options: options, example: example) }
}

/// The command `bellhop retries`, which shows deliveries in retry tiers and brings them forward.
enum RetriesCommand: Command {
    static let name = "retries"
    static let summary = "Shows deliveries that wait for another attempt, and brings them forward."
    static let synopsis = RetryVerb.allCases.map { "retries \($0.usage)" }
    static let options = [
        Option.taking("app", "A", "of this app"),
        .taking("provider", "P", "through this provider: \(CheckedProvider.list)"),
        .switch("yes", "skip the confirmation prompt"),
        .taking("by", "NAME", "operator name for the audit (default: system user)"),
        .taking("because", "TEXT", "reason for the audit; prompted for on a terminal"),
        .json,
    ]

    static func help(for words: [String]) -> String {
        words.lazy.compactMap(RetryVerb.init(rawValue:)).first?.help ?? help
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let verb = try call.words.verb(usually: RetryVerb.list)
        return try await call.withOperations("\(name) \(verb.rawValue)", isAct: verb.isAct) { context in
            let operations = RetryOperations(context)
            return switch verb {
            case .list: try await list(call, operations)
            case .bringForward: try await bringForward(call, operations)
            }
        }
    }

    private static func list(_ call: Call, _ operations: RetryOperations) async throws -> ExitCode {
        let list = try await operations.list(app: call.words.value("app"))
        let now = SystemTime().timestamp
        let row = { (retries: WaitingRetries, what: String) -> [String] in
            let left = Duration.microseconds(max(0, retries.lastDue.microseconds - now.microseconds))
            let count = (retries.isCapped ? "at least " : "") + retries.count.grouped
            return [retries.app, retries.provider, what, count, "in \(left.roughly)"]
        }
        let table = TextTable(
            ["app", "provider", "because of", "waiting", "last due"],
            texts: [0, 1, 2],
            rows: list.waiting.map { row($0, "an outage") } + list.limited.map { row($0, "a rate limit") }
                + list.others.map { row($0, "another response") }
        )
        call.answer(list.json, lines: list.isEmpty ? ["No delivery waits for another attempt."] : table.lines())
        return list.isEmpty ? .answerIsNo : .done
    }

    private static func bringForward(_ call: Call, _ operations: RetryOperations) async throws -> ExitCode {
        guard call.words.operands.count == 1 else { throw call.words.misuse("bring-forward takes no operand") }
        let preview = try await operations.preview(call.fields)
        guard preview.waiting != nil else {
            call.answer(.members([("deliveries", .int(0))]), prose: [preview.nothing])
            return .answerIsNo
        }
        guard try preview.isSmall || call.confirm(preview.question) else { return .answerIsNo }
        let done = try await operations.bringForward(preview, by: try call.actingOperator())
        call.answer(
            done.json,
            prose: ["Brought \(done.deliveries.of("retry", "retries")) forward; they are sent at 200 users per second."]
                + (done.limitWords.map { [$0] } ?? [])
        )
        return .done
    }
}
