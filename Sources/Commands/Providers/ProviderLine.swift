import BellhopRules
import Operations
import ServiceRuntime

/// One outlet of the providers' board in words.
struct ProviderLine {
    static let figures = ["app", "provider", "state", "accepted", "rejected", "p50", "p95"]
    static let answers = ["last accepted", "last rejected", "waiting"]

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
            waiting ?? "-",
        ]
    }

    /// The number of deliveries that wait, with the parts that it consists of; `nil` if none waits.
    private var waiting: String? {
        guard row.waiting > 0 else { return nil }
        let retries = [
            (row.retries.map { [$0] } ?? [], "for another attempt"),
            (row.others, "for a rate limit or after another response"), (row.due.map { [$0] } ?? [], "due now"),
        ].map { ($0.map(\.count).reduce(0, +), $0.contains(where: \.isCapped), $1) }
        let parts =
            retries + [
                (row.blocked?.waiting ?? 0, row.blocked?.isCapped ?? false, "behind the breaker"),
                (row.held, false, "behind a hold"), (row.queued, false, "in the backlog"),
            ]
        let words = parts.filter { $0.0 > 0 }.map { count, isCapped, what in
            (Self.count(count, isCapped), what)
        }
        let all = Self.count(row.waiting, row.waitingIsCapped)
        guard words.count > 1 else { return "\(all) \(words[0].1)" }
        return "\(all): " + words.map { "\($0) \($1)" }.joined(separator: ", ")
    }

    private static func count(_ number: Int, _ isCapped: Bool) -> String {
        number.grouped + (isCapped ? " or more" : "")
    }

    /// The content that the figures lack, as a sentence: `last accepted 2 min ago, last rejected none in 12 min`.
    var below: String {
        let parts = [
            row.breaker.map { "breaker: \($0)" },
            row.holds.isEmpty ? nil : "hold " + row.holds.map(String.init).joined(separator: ", "),
            "last accepted: \(answers[0])", "last rejected: \(answers[1])",
            waiting.map { "waiting: \($0)" },
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
