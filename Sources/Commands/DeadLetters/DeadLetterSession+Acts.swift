import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Performs `note`, `discard` and `restore` on all items that match the filter.
    func act(_ act: DeadLetterAction) async throws -> ExitCode {
        try await perform(try await operations.preview(act, input, asOf: nil))
    }

    /// Performs `undo ACT`: it reverses one act for the items that were not changed since.
    func undo() async throws -> ExitCode {
        try await perform(try await operations.previewUndo(input, asOf: nil))
    }

    private func perform(_ preview: DeadLetterActPreview) async throws -> ExitCode {
        guard preview.count.items > 0 else {
            answer(DeadLetterActDone.nothing, lines: [preview.nothing])
            return .answerIsNo
        }
        guard !words.has("dry-run") else {
            answer(preview.json, lines: ["This \(preview.question.deed); nothing was changed."])
            return .done
        }
        guard try confirm(preview.question) else { return .answerIsNo }
        let done = try await operations.perform(preview, input, by: try actingOperator())
        let undoing =
            preview.act == .note ? nil : done.number.map { " (act \($0)). bellhop dead-letters undo \($0) reverts it." }
        answer(done.json, lines: ["\(preview.act.pastWords) \(done.items.of("item"))\(undoing ?? ".")"])
        return .done
    }

    /// In a narrower terminal, the column of reasons is more important than exact times.
    private static let roomForInstants = 120

    /// Performs `audit`: it lists operators' acts, the most recent first.
    func audit() async throws -> ExitCode {
        let log = try await operations.audit(input)
        let now = SystemTime().timestamp
        let isNarrow = (width ?? .max) < Self.roomForInstants
        let rows = log.entries.map { entry in
            [
                String(entry.number), isNarrow ? HumanText.ago(entry.at, now) : HumanText.instant(entry.at),
                HumanText.cut(entry.operator, to: 20),
                HumanText.cut(entry.login ?? "-", to: 20), entry.act + (entry.replay.map { " \($0)" } ?? ""),
                entry.items.grouped, HumanText.cut(log.selection(of: entry), to: 500),
                HumanText.cut(entry.because, to: 500),
            ]
        }
        let columns = ["act", "when", "who", "log-in", "what", "items", "filter", "because"]
        let table = TextTable(columns, texts: [1, 2, 3, 4, 6, 7], flexible: [6, 7], optional: [3], rows: rows)
        let isFiltered = !input.fields.given.isDisjoint(with: ["by", "act", "text"])
        let none = isFiltered ? "No actions match." : "No actions yet."
        answer(
            log.json,
            lines: log.entries.isEmpty ? [none] : withChanges(of: log.entries, table.lines(fitting: width)),
            emphasis: { index, _ in index == 0 && !log.entries.isEmpty ? .heading : .plain }
        )
        return .done
    }

    /// Puts below the line of each edit what it has set: a column of the table would be cut.
    private func withChanges(of entries: [AuditEntry], _ lines: [String]) -> [String] {
        lines.prefix(1)
            + zip(entries, lines.dropFirst()).flatMap { entry, line in
                guard !entry.changes.isEmpty else { return [line] }
                let changes = "     set: \(entry.changes.joined(separator: ", "))"
                return [line, HumanText.cut(changes, to: min(width ?? .max, Self.mostOfChanges))]
            }
    }

    private static let mostOfChanges = 1_000
}

extension DeadLetterAction {
    fileprivate var pastWords: String {
        switch self {
        case .discard: "Discarded"
        case .restore: "Restored"
        case .note: "Added a note to"
        }
    }
}
