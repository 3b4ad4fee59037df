import BellhopRules
import CLI
import Roles
import ServiceRuntime
import Settings
import Store

/// The command `bellhop export --app A --user U`.
enum ExportCommand: Command {
    static let name = "export"
    static let summary = "Prints everything that is stored about a user, as JSON; the audit records it."
    static let synopsis = ["export --app A --user U [--tokens] [--by NAME] --because TEXT"]
    static let options = [
        Option.taking("app", "A", "the app"),
        Option.taking("user", "U", "the user"),
        Option.switch("tokens", "include the tokens and keys of devices in full, not only their last four characters"),
        Option.taking("by", "NAME", "operator name for the audit (default: system user)"),
        Option.taking("because", "TEXT", "reason for the audit (default: \(usualReason))"),
    ]

    private static let usualReason = "export of a user's data"

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard let app = try call.words.optional("app", AppID.rule, AppID.init(validating:)) else {
            throw call.words.misuse("--app is missing")
        }
        guard let user = try call.words.optional("user", UserID.rule, UserID.init(validating:)) else {
            throw call.words.misuse("--user is missing")
        }
        let key = UserKey(app: app, user: user)
        let actor = ActingOperator(
            name: call.words.value("by") ?? call.shell.user,
            because: call.words.value("because") ?? usualReason
        )
        let setup = try call.setup(requiring: [.databaseURL])
        let items = try await setup.withOperatorPool("exporting a user's data", isAct: true) { pool in
            let export = UserExport(of: key, showingTokens: call.words.has("tokens"), on: pool)
            // The audit comes first: data that was printed must not be missing in it.
            try await export.audit(by: actor)
            return try await write(export, key, to: call.shell)
        }
        return items == 0 ? .answerIsNo : .done
    }

    /// Prints the export piece by piece, and returns the number of its rows without the audit's.
    private static func write(_ export: UserExport, _ key: UserKey, to shell: CommandEnvironment) async throws -> Int {
        let names = JSONValue.members([("app", .string(key.app.text)), ("user", .string(key.user.text))]).written
        shell.print(line: "\(names.dropLast()),\"exportedAt\":\"\(SystemTime().timestamp)\",")
        var items = 0
        for part in UserExport.Part.allCases {
            let rows = try await export.rows(of: part)
            if part != .audit { items += rows.count }
            switch part {
            case .recipient, .preferences: shell.print(line: "\"\(part.rawValue)\":\(rows.first ?? "null"),")
            default:
                shell.print(line: "\"\(part.rawValue)\":[")
                list(rows, isLast: true, shell)
                shell.print(line: "],")
            }
        }
        shell.print(line: "\"notifications\":[")
        var page = try await export.notifications(after: nil)
        while let current = page {
            items += current.rows.count
            page = try await export.notifications(after: current.last)
            list(current.rows, isLast: page == nil, shell)
        }
        shell.print(line: "]}")
        return items
    }

    private static func list(_ rows: [String], isLast: Bool, _ shell: CommandEnvironment) {
        for (index, row) in rows.enumerated() {
            shell.print(line: row + (isLast && index == rows.count - 1 ? "" : ","))
        }
    }
}
