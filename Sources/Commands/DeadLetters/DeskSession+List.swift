import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `list`: single items, those that failed last first.
    func list() async throws -> ExitCode {
        let filter = try await filter()
        let page = try await desk.page(filter, atMost: filter.limit ?? Self.usualPage)
        guard !isJSON else {
            print(page.json.description)
            return page.count == 0 ? .answerIsNo : .done
        }
        guard page.count > 0 else {
            print("No items match.")
            return .answerIsNo
        }
        for line in Self.lines(of: page.items, asOf: page.asOf) { print(line) }
        if page.items.count < page.count {
            print("\(page.items.count.grouped) of \(page.count.of("item")); --limit N shows more.")
        }
        return .done
    }

    /// What a terminal shows of items.
    static func lines(of items: [DeadLetterSummary], asOf: Timestamp) -> [String] {
        let showsState = items.contains { $0.state != .open }
        var header = ["item", "failed", "app", "type", "user", "reason", "deaths", "error"]
        if showsState { header.insert("state", at: 1) }
        let shift = showsState ? 1 : 0
        var table = TextTable(header, texts: Set((1...5).map { $0 + shift } + [1, 7 + shift]))
        for (item, id) in zip(items, DeskText.shortened(items.map(\.deadID))) {
            var cells = [
                id, DeskText.ago(item.lastFailedAt, asOf), DeskText.cut(item.cause.app ?? "-", to: 16),
                DeskText.cut(item.cause.eventType ?? "-", to: 24), DeskText.cut(item.cause.user ?? "-", to: 16),
                item.cause.reason,
                String(item.deaths), DeskText.cut(item.cause.error, to: 60),
            ]
            if showsState { cells.insert(item.state.rawValue, at: 1) }
            table.add(cells)
        }
        return table.lines()
    }

    private static let usualPage = 50
}

extension DeadLetterPage {
    fileprivate var json: JSONText {
        .object([
            ("asOf", .text(asOf.description)), ("count", .number(count)),
            ("items", .list(items.map { .object($0.members) })),
        ])
    }
}
