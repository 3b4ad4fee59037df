import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Performs `list`: it lists single items, the most recent failures first.
    func list() async throws -> ExitCode {
        let emphasis = { (index: Int, line: String) -> LineStyle in
            index == 0 ? .heading : line.hasPrefix("    ") ? .faint : .plain
        }
        if words.has("watch") {
            try await request.call.watch({ try await operations.page(input).lines(fitting: width) }, emphasis: emphasis)
        }
        let page = try await operations.page(input)
        answer(page.json, lines: page.lines(fitting: width), emphasis: emphasis)
        return page.count == 0 ? .answerIsNo : .done
    }
}

extension DeadLetterPage {
    fileprivate func lines(fitting width: Int?) -> [String] {
        guard count > 0 else { return ["No items match."] }
        // A column with the same value in every row is left out.
        let showsState = items.contains { $0.state != .open }
        let showsDeaths = items.contains { $0.failures > 1 }
        var header = ["item", "failed", "app", "type", "user", "reason"]
        if showsDeaths { header.append("deaths") }
        if showsState { header.insert("state", at: 1) }
        let shift = showsState ? 1 : 0
        let texts = Set((1...5).map { $0 + shift } + [1])
        let flexible = [4, 3, 2].map { $0 + shift }
        var rows: [[String]] = []
        for (item, id) in zip(items, HumanText.shortened(items.map(\.deadID))) {
            let cause = item.cause
            let failed = item.isUnfailedCopy ? "-" : HumanText.ago(item.lastFailedAt, asOf)
            var cells = [
                id, failed, HumanText.cut(cause.app ?? "-", to: 16), HumanText.cut(cause.eventType ?? "-", to: 24),
                HumanText.cut(cause.user ?? "-", to: 16), item.isUnfailedCopy ? "corrected copy" : cause.reason,
            ]
            if showsDeaths { cells.append(String(item.failures)) }
            if showsState { cells.insert(item.state.rawValue, at: 1) }
            rows.append(cells)
        }
        let errors = items.map { item in
            if item.isUnfailedCopy { return HumanText.cut(item.cause.error, to: 500) }
            let copy = item.copyWords.map { "\($0) failed: " } ?? ""
            let place = item.cause.pointer.map { $0.isEmpty ? "" : "\($0): " } ?? ""
            return HumanText.cut(copy + place + item.cause.error, to: 500)
        }
        let bare = TextTable(header, texts: texts, flexible: flexible, rows: rows)
        let room = width.map { $0 - (bare.lines().map(\.count).max() ?? 0) - 2 }
        let rest = HumanText.rest(items.count, of: count)
        // An error cut to a few characters is useless, so it gets a separate line.
        if let width, let room, room < min(Self.leastError, errors.map(\.count).max() ?? 0) {
            let below: [[String]] = [[]] + errors.map { ["    " + HumanText.cut($0, to: width - 4)] }
            return zip(bare.lines(fitting: width), below).flatMap { line, error in [line] + error } + rest
        }
        let last = header.count
        let full = TextTable(
            header + ["error"],
            texts: texts.union([last]),
            flexible: [last] + flexible,
            rows: zip(rows, errors).map { $0 + [$1] }
        )
        return full.lines(fitting: width) + rest
    }

    private static let leastError = 40
}
