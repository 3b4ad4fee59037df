import BellhopRules
import CLI
import Operations
import ServiceRuntime

/// The command `bellhop providers [--json]`.
enum ProvidersCommand: Command {
    static let name = "providers"
    static let summary = "Shows every app at every provider: rates, durations, latest answers, holds."
    static let synopsis = ["providers [--json]"]
    static let options = [Option.json]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let board = try await call.withOperations(name) { try await ProviderBoard($0) }
        let table = TextTable(
            columns,
            texts: [0, 1, 2, 7, 8],
            rows: board.rows.map { cells($0, at: board.time) }
        )
        call.answer(
            board.json,
            lines: board.rows.isEmpty ? ["No worker has reported an outlet yet."] : table.lines() + ["", legend]
        )
        return board.rows.isEmpty ? .answerIsNo : .done
    }

    private static let columns = [
        "app", "provider", "state", "accepted", "rejected", "p50", "p95", "last accepted", "last rejected", "retries",
    ]
    private static let legend =
        "accepted, rejected: per minute; p50, p95: duration of a request; all of the last minute or two."

    private static func cells(_ row: ProviderBoard.Row, at now: Timestamp) -> [String] {
        let holds = row.holds.isEmpty ? "" : ", hold " + row.holds.map(String.init).joined(separator: ", ")
        let state = row.state == .held ? "held" : row.state.rawValue + (row.breaker.map { " (\($0))" } ?? "")
        let rejected = row.rejectedAt.map { HumanText.ago($0, now) + (row.word.map { ", \($0)" } ?? "") }
        return [
            row.app, row.provider, state + holds, perMinute(row.accepted), perMinute(row.rejected),
            milliseconds(row.median), milliseconds(row.slow), row.acceptedAt.map { HumanText.ago($0, now) } ?? "-",
            rejected ?? "-", row.retries.map { $0.count.grouped + ($0.isCapped ? " or more" : "") } ?? "-",
        ]
    }

    private static func perMinute(_ rate: Double) -> String { Int(exactly: rate.rounded())?.grouped ?? "-" }

    private static func milliseconds(_ number: Double?) -> String {
        number.flatMap { Int(exactly: $0.rounded()) }.map { "\($0.grouped) ms" } ?? "-"
    }
}
