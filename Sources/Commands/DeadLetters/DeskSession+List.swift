import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `list`: single items, those that failed last first.
    func list() async throws -> ExitCode {
        let filter = try await filter()
        let order = try words.optional("sort", "newest, oldest or deaths", DeadLetterOrder.init) ?? .newest
        let look = { () async throws -> DeadLetterPage in
            try await desk.page(filter, atMost: filter.limit ?? Self.usualPage, in: order)
        }
        let emphasis = { (index: Int, _: String) -> Emphasis in index == 0 ? .heading : .plain }
        if words.has("watch") {
            try await request.call.watch({ try await look().lines(fitting: width) }, emphasis: emphasis)
        }
        let page = try await look()
        answer(page.json, lines: page.lines(fitting: width), emphasis: emphasis)
        return page.count == 0 ? .answerIsNo : .done
    }

    private static let usualPage = 50
}

extension DeadLetterPage {
    fileprivate func lines(fitting width: Int?) -> [String] {
        guard count > 0 else { return ["No items match."] }
        // What is the same of all of them nobody needs to read.
        let showsState = items.contains { $0.state != .open }
        let showsDeaths = items.contains { $0.deaths > 1 }
        var header = ["item", "failed", "app", "type", "user", "reason", "error"]
        if showsDeaths { header.insert("deaths", at: 6) }
        if showsState { header.insert("state", at: 1) }
        let shift = showsState ? 1 : 0
        var table = TextTable(
            header,
            texts: Set((1...5).map { $0 + shift } + [1, header.count - 1]),
            flexible: [header.count - 1] + [4, 3, 2].map { $0 + shift }
        )
        for (item, id) in zip(items, DeskText.shortened(items.map(\.deadID))) {
            let cause = item.cause
            var cells = [
                id, DeskText.ago(item.lastFailedAt, asOf), DeskText.cut(cause.app ?? "-", to: 16),
                DeskText.cut(cause.eventType ?? "-", to: 24), DeskText.cut(cause.user ?? "-", to: 16), cause.reason,
                DeskText.cut(cause.error, to: 500),
            ]
            if showsDeaths { cells.insert(String(item.deaths), at: 6) }
            if showsState { cells.insert(item.state.rawValue, at: 1) }
            table.add(cells)
        }
        return table.lines(fitting: width) + DeskText.rest(items.count, of: count)
    }

    fileprivate var json: JSONText {
        .object([
            ("asOf", .text(asOf.description)), ("count", .number(count)),
            ("items", .list(items.map { .object($0.members) })),
        ])
    }
}
