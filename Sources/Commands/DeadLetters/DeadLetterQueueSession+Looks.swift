import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

/// The commands that show dead letters without the database.
extension DeadLetterQueueSession {
    /// Performs `groups`, the largest group first.
    func groups() async throws -> ExitCode {
        try expectNoItems()
        var gathering = DeadLetterGrouping(at: SystemTime().timestamp)
        let short = try await forEach { items in
            for item in items { gathering.add(item) }
            return []
        }
        let found = gathering.all
        if found.items == 0, short == nil { return try await foundNothing(found.json) }
        request.call.answer(found.json, lines: found.lines(fitting: width), emphasis: DeadLetterGroups.emphasis)
        await sayWhoHolds()
        if let short { throw short }
        return .done
    }

    /// Performs `list`.
    ///
    /// It keeps only the most recent failures and counts the older ones, so that memory stays bounded.
    func list() async throws -> ExitCode {
        let limit = filter.limit ?? 50
        var latest: [DeadLetterItem] = []
        var count = 0
        let short = try await forEach { items in
            count += items.count
            latest = Array((latest + items.map(Self.withoutBody)).sorted { $0.failedAt > $1.failedAt }.prefix(limit))
            return []
        }
        let items = latest.map { JSONValue.members(DeadLetterMessage($0).listed) }
        let json = JSONValue.members([("count", .int(count)), ("items", .array(items))])
        if count == 0, short == nil { return try await foundNothing(json) }
        request.call.answer(
            json,
            lines: table(of: latest).lines(fitting: width) + HumanText.rest(latest.count, of: count),
            emphasis: { index, _ in index == 0 ? .heading : .plain }
        )
        await sayWhoHolds()
        if let short { throw short }
        return .done
    }

    private func table(of latest: [DeadLetterItem]) -> TextTable {
        let now = SystemTime().timestamp
        let rows = zip(latest, HumanText.shortened(latest.map(\.deadID))).map { item, id in
            [
                id, HumanText.ago(item.failedAt, now), HumanText.cut(item.cause.app ?? "-", to: 16),
                HumanText.cut(item.cause.eventType ?? "-", to: 24), HumanText.cut(item.cause.user ?? "-", to: 16),
                item.cause.reason, HumanText.cut(item.cause.error, to: 500),
            ]
        }
        let header = ["item", "failed", "app", "type", "user", "reason", "error"]
        return TextTable(header, texts: [1, 2, 3, 4, 5, 6], flexible: [6, 4, 3, 2], rows: rows)
    }

    /// Performs `show` for one item with its message.
    ///
    /// The message is masked, since without a database no reveal can be audited.
    func show() async throws -> ExitCode {
        guard filter.ids.count == 1 else { throw words.misuse("show takes one item; list has their names") }
        var found: [DeadLetterItem] = []
        let short = try await forEach { items in
            if found.count < 2 { found += items.prefix(2) }
            return []
        }
        guard let item = found.first else {
            if let short { throw short }
            return try await foundNothing(.members([("items", .array([]))]))
        }
        let isWhole = found.contains { $0.deadID == filter.ids[0] }
        guard found.count == 1 || isWhole else {
            throw CommandFailure(
                .badInput,
                attempted: "show \(filter.ids[0])",
                cameBack: "several items begin like this, such as \(found[0].deadID) and \(found[1].deadID)",
                whatToDo: "give more characters"
            )
        }
        let shown = found.first { $0.deadID == filter.ids[0] } ?? item
        let now = SystemTime().timestamp
        let answer = DeadLetterAnswer(DeadLetterDetail(shown), now: now)
        request.call.answer(answer.json, lines: answer.lines)
        return .done
    }

    private func expectNoItems() throws(CommandFailure) {
        guard let first = filter.ids.first else { return }
        throw words.misuse("\(request.verb.rawValue) takes no operand; found \(first)")
    }

    private static func withoutBody(_ item: DeadLetterItem) -> DeadLetterItem {
        var slim = item
        slim.origin.body = []
        return slim
    }
}
