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
        let undoing = preview.act == .note ? nil : done.number.map { " bellhop dead-letters undo \($0) takes it back." }
        answer(done.json, lines: ["\(preview.act.pastWords) \(done.items.of("item")).\(undoing ?? "")"])
        return .done
    }

    /// In a narrower terminal, the column of reasons is more important than exact times.
    private static let roomForInstants = 120

    /// Performs `audit`: it lists operators' acts, the most recent first.
    func audit() async throws -> ExitCode {
        let entries = try await operations.audit(input)
        let now = SystemTime().timestamp
        let isNarrow = (width ?? .max) < Self.roomForInstants
        let rows = entries.map { entry in
            [
                String(entry.number), isNarrow ? HumanText.ago(entry.at, now) : HumanText.instant(entry.at),
                HumanText.cut(entry.operator, to: 20),
                HumanText.cut(entry.login ?? "-", to: 20), entry.act + (entry.replay.map { " \($0)" } ?? ""),
                entry.items.grouped, HumanText.cut(entry.filterWords, to: 500), HumanText.cut(entry.because, to: 500),
            ]
        }
        let columns = ["number", "when", "who", "log-in", "act", "items", "filter", "because"]
        let table = TextTable(columns, texts: [1, 2, 3, 4, 6, 7], flexible: [6, 7], optional: [3], rows: rows)
        answer(
            entries.json,
            lines: entries.isEmpty ? ["No actions yet."] : table.lines(fitting: width),
            emphasis: { index, _ in index == 0 ? .heading : .plain }
        )
        return .done
    }
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

extension AuditEntry {
    /// The filter as `app drop, reason malformed-json`.
    fileprivate var filterWords: String {
        let words = filter.members.filter { $0.key != "itemCount" }.map { member in
            if member.key == "items" { return "items \(itemWords)" }
            let list = member.value.array.map { $0.compactMap(\.string).joined(separator: ", ") }
            let value =
                member.value.string ?? list
                ?? String(decoding: JSONWriter.canonicalBytes(of: member.value), as: UTF8.self)
            return "\(member.key) \(value)"
        }
        // The file determines which items are imported.
        let nothing = act == "import" ? "-" : "all open items"
        return words.isEmpty ? nothing : words.joined(separator: ", ")
    }

    /// The first named item, and the number of further named items.
    private var itemWords: String {
        let named = filter["items"]?.array?.compactMap(\.string) ?? []
        let count = filter["itemCount"]?.number?.int64.map { Int(clamping: $0) } ?? named.count
        return (named.first ?? "-") + (count > 1 ? " and \((count - 1).grouped) more" : "")
    }
}
