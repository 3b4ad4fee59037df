import BellhopRules
import Operations
import ServiceRuntime

/// One outlet of the providers' board in words.
struct ProviderLine {
    static let figures = ["app", "provider", "state", "accepted", "rejected", "p50", "p95"]
    static let answers = ["last accepted", "last rejected", "retries"]

    private let row: ProviderBoard.Row
    private let now: Timestamp

    init(_ row: ProviderBoard.Row, at now: Timestamp) {
        self.row = row
        self.now = now
    }

    /// The state in one word or two.
    var state: String {
        guard row.state == .unused else { return row.state.rawValue }
        return row.reported == nil ? "no report yet" : "nothing sent"
    }

    /// The breaker's reason and the holds, as the end of the state; empty without them.
    var details: String {
        let holds = row.holds.isEmpty ? "" : ", hold " + row.holds.map(String.init).joined(separator: ", ")
        return (row.breaker.map { " (\($0))" } ?? "") + holds
    }

    /// The cells of the first columns.
    func figures(state: String) -> [String] {
        [
            row.app, row.provider, state, Self.perMinute(row.accepted), Self.perMinute(row.rejected),
            Self.milliseconds(row.median), Self.milliseconds(row.slow),
        ]
    }

    /// The cells of the other columns.
    var answers: [String] {
        [
            row.acceptedAt.map { HumanText.ago($0, now) } ?? none ?? "-", rejected ?? none ?? "-",
            row.retries.map { $0.count.grouped + ($0.isCapped ? " or more" : "") } ?? "-",
        ]
    }

    /// The content that the figures lack, as a sentence: `last accepted 2 min ago, last rejected none in 12 min`.
    var below: String {
        let retries = row.retries.map { "\($0.count.grouped)\($0.isCapped ? " or more" : "") retries wait" }
        let parts = [
            row.breaker.map { "breaker: \($0)" },
            row.holds.isEmpty ? nil : "hold " + row.holds.map(String.init).joined(separator: ", "),
            "last accepted: \(answers[0])", "last rejected: \(answers[1])", retries,
        ]
        return parts.compactMap { $0 }.joined(separator: "; ")
    }

    private var rejected: String? {
        row.rejectedAt.map { HumanText.ago($0, now) + (row.word.map { ", \($0)" } ?? "") }
    }

    private var none: String? { row.reported.map { "none in \($0.roughly)" } }

    private static func perMinute(_ rate: Double) -> String { Int(exactly: rate.rounded())?.grouped ?? "-" }

    private static func milliseconds(_ number: Double?) -> String {
        number.flatMap { Int(exactly: $0.rounded()) }.map { "\($0.grouped) ms" } ?? "-"
    }
}
