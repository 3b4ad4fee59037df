import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `list`: single items, those that failed last first.
    func list() async throws -> ExitCode {
        let filter = try await filter()
        let page = try await desk.page(filter, atMost: filter.limit ?? Self.usualPage)
        answer(page.json, lines: page.lines)
        return page.count == 0 ? .answerIsNo : .done
    }

    private static let usualPage = 50
}

extension DeadLetterPage {
    fileprivate var lines: [String] {
        guard count > 0 else { return ["No items match."] }
        let showsState = items.contains { $0.state != .open }
        var header = ["item", "failed", "app", "type", "user", "reason", "deaths", "error"]
        if showsState { header.insert("state", at: 1) }
        let shift = showsState ? 1 : 0
        var table = TextTable(header, texts: Set((1...5).map { $0 + shift } + [1, 7 + shift]))
        for (item, id) in zip(items, DeskText.shortened(items.map(\.deadID))) {
            let cause = item.cause
            var cells = [
                id, DeskText.ago(item.lastFailedAt, asOf), DeskText.cut(cause.app ?? "-", to: 16),
                DeskText.cut(cause.eventType ?? "-", to: 24), DeskText.cut(cause.user ?? "-", to: 16), cause.reason,
                String(item.deaths), DeskText.cut(cause.error, to: 60),
            ]
            if showsState { cells.insert(item.state.rawValue, at: 1) }
            table.add(cells)
        }
        return table.lines() + DeskText.rest(items.count, of: count)
    }

    fileprivate var json: JSONText {
        .object([
            ("asOf", .text(asOf.description)), ("count", .number(count)),
            ("items", .list(items.map { .object($0.members) })),
        ])
    }
}
