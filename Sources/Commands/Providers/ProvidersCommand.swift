import BellhopRules
import CLI
import Operations
import ServiceRuntime

/// The verbs of `bellhop providers`.
enum ProviderVerb: String, CommandVerb, Sendable {
    case list
    case probe

    /// The usage on the command line.
    var usage: String {
        switch self {
        case .list: "[list] [--json]"
        case .probe: "probe --app A --provider P [--by NAME] [--because TEXT] [--json]"
        }
    }

    /// The options that the verb accepts.
    var options: Set<String> {
        switch self {
        case .list: ["json"]
        case .probe: ["app", "provider", "by", "because", "json"]
        }
    }

    private var purpose: String {
        switch self {
        case .list: "Lists every app at every provider: rates, durations, latest answers, holds."
        case .probe:
            "Makes the next probe of an open breaker due now: one delivery is sent; if accepted, the others follow."
        }
    }

    private var example: String {
        switch self {
        case .list: "list"
        case .probe: "probe --app drop --provider fcm --because \"the key is replaced\""
        }
    }

    /// The complete text of `--help` for the verb.
    var help: String { ProvidersCommand.help(verb: usage, purpose, options: options, example: example) }
}

/// The command `bellhop providers`, which shows the providers of each app and tests an open breaker.
enum ProvidersCommand: Command {
    static let name = "providers"
    static let summary = "Shows every app at every provider, and probes a provider behind an open breaker."
    static let synopsis = ProviderVerb.allCases.map { "providers \($0.usage)" }
    static let options = [
        Option.taking("app", "A", "probe: of this app"),
        .taking("provider", "P", "probe: this provider: \(CheckedProvider.list)"),
        .taking("by", "NAME", "operator name for the audit (default: system user)"),
        .taking("because", "TEXT", "reason for the audit; prompted for on a terminal"),
        .json,
    ]

    static func help(for words: [String]) -> String {
        words.lazy.compactMap(ProviderVerb.init(rawValue:)).first?.help ?? help
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let verb = try call.words.verb(usually: ProviderVerb.list)
        guard call.words.operands.count <= 1 else { throw call.words.misuse("\(verb.rawValue) takes no operand") }
        return try await call.withOperations("\(name) \(verb.rawValue)", isAct: verb.isAct) { context in
            switch verb {
            case .list: return list(call, try await ProviderBoard(context))
            case .probe:
                let probe = try await ProviderProbe(call.fields, in: context)
                try await probe.perform(by: try call.actingOperator(), in: context)
                call.answer(probe.json, lines: [probe.words])
                return .done
            }
        }
    }

    private static func list(_ call: Call, _ board: ProviderBoard) -> ExitCode {
        let output = call.shell.output
        call.answer(
            board.json,
            lines: board.rows.isEmpty
                ? [board.absence ?? "No worker has reported an outlet yet."]
                : (board.absence.map { [$0] } ?? []) + table(board, fitting: output.width)
                    + output.filled(blocked(board) + ["", legend])
        )
        return board.rows.isEmpty ? .answerIsNo : .done
    }

    /// Returns one line for each outlet.
    ///
    /// In a terminal that is too narrow for it, the latest answers, breakers, holds and waiting deliveries follow below
    /// the figures.
    private static func table(_ board: ProviderBoard, fitting width: Int?) -> [String] {
        let outlets = board.rows.map { ProviderLine($0, at: board.time) }
        let lines = TextTable(
            ProviderLine.figures + ProviderLine.answers,
            texts: [0, 1, 2, 7, 8, 9],
            rows: outlets.map { $0.figures(state: $0.state + $0.details) + $0.answers }
        ).lines()
        guard let width, lines.contains(where: { $0.count > width }) else { return lines }
        let short = TextTable(
            ProviderLine.figures,
            texts: [0, 1, 2],
            flexible: [0],
            rows: outlets.map { $0.figures(state: $0.state) }
        )
        let below = outlets.map { $0.below.split(separator: " ").lines(of: max(40, width), behind: "    ") }
        return zip(short.lines(fitting: width), [[]] + below).flatMap { line, more in [line] + more }
    }

    /// The deliveries behind open breakers, which are not retries.
    private static func blocked(_ board: ProviderBoard) -> [String] {
        let lines = board.rows.compactMap(\.blocked).map {
            "\($0.app)/\($0.provider): \($0.words); \($0.command) tries now."
        }
        return lines.isEmpty ? [] : [""] + lines
    }

    private static let legend =
        "accepted, rejected: per minute; p50, p95: until the last answer to the pushes that are sent together, which is "
        + "longer than one request; all of the last minute or two. Workers report every ten seconds what they have sent "
        + "since their start: `none in 12 min` is the period of the latest worker's reports."
}
