import CLI
import Operations
import Roles
import ServiceRuntime
import Store

extension Status {
    /// The status as one text.
    var text: String { lines().joined(separator: "\n") }

    /// Returns the lines for people: problems first, then the figures.
    ///
    /// `-` marks an unknown value.
    func lines(fitting width: Int? = nil) -> [String] {
        var lines = [
            "Bellhop, namespace \(namespace), \(String("\(time)".prefix(19)).replacing("T", with: " ")) UTC", "",
        ]
        lines += problems.isEmpty ? ["All is well."] : problems.flatMap { Self.item($0, width) }
        if let queues = broker.value { lines += [""] + table(of: queues) }
        if let store = database.value?.store {
            let parts = [owed(store), backlogs(store), fanouts(store), deadLetters(store)]
            for part in parts { lines += [""] + part }
            if !crews.isEmpty { lines += [""] + table(of: crews, width) }
            lines.append("")
            lines.append("planned events".filled(to: Self.firstColumn) + plannedWords(store.planned))
        } else {
            lines.append("")
        }
        if let outbox { lines.append("outbox".filled(to: Self.firstColumn) + Self.words(outbox.value)) }
        lines.append("schema".filled(to: Self.firstColumn) + (schemaWord ?? "-"))
        let topology = topologyDifferences.map { $0.isEmpty ? "current" : "differs from the catalogues" }
        lines.append("topology".filled(to: Self.firstColumn) + (topology ?? "-"))
        return lines
    }

    /// The emphasis of a line: problems and the headings of the tables stand out.
    static let emphasis: @Sendable (Int, String) -> LineStyle = { index, line in
        if line.hasPrefix("!") || index > 1 && line.hasPrefix("   ") { return .bad }
        if line == "All is well." { return .good }
        return headings.contains { line.hasPrefix($0) } ? .heading : .plain
    }

    private static let headings = [
        "queue ", "owed deliveries ", "backlogs ", "fan-outs ", "open dead letters ", "processes ",
    ]

    private static let firstColumn = 34

    private func table(of queues: [QueueStatus]) -> [String] {
        var table = TextTable(["queue", "ready", "unacked", "oldest", "consumers"])
        for queue in queues where !Self.isQuiet(queue) {
            guard let counts = queue.counts else {
                table.add([queue.title, "missing", "", "", ""])
                continue
            }
            // A retry queue empties automatically and needs no consumers.
            let consumers = if case .retry = queue.purpose { "" } else { String(counts.consumers) }
            table.add([
                queue.title, counts.ready.grouped, counts.unacked.map(\.grouped) ?? "-",
                age(queue)?.roughly ?? "-", consumers,
            ])
        }
        return table.lines(firstColumn: Self.firstColumn) + leftovers
    }

    private var leftovers: [String] {
        guard let count = retryLeftovers, count > 0 else { return [] }
        let belong = count == 1 ? "belongs" : "belong"
        return [
            "  \(count.of("retry message")) \(belong) to no waiting retry (brought forward or ended) and will have no effect"
        ]
    }

    /// Whether a queue is hidden.
    ///
    /// A queue that is usually empty is shown only if it contains messages.
    private static func isQuiet(_ queue: QueueStatus) -> Bool {
        switch queue.purpose {
        case .lane, .resume, .dead: false
        case .retry, .replay, .receipts: queue.counts?.ready == 0 && queue.counts?.unacked ?? 0 == 0
        }
    }

    /// Returns a problem in lines that fit the terminal.
    private static func item(_ text: String, _ width: Int?) -> [String] {
        text.onOneLine.split(separator: " ").lines(of: max(40, width ?? 100), behind: "!  ")
    }

    private func table(of crews: [Crew], _ width: Int?) -> [String] {
        var table = TextTable(
            ["processes", "count", "version", "catalogues", "where"],
            texts: [2, 3, 4],
            flexible: [4]
        )
        for crew in crews { table.add([crew.title, String(crew.count), crew.version, crew.catalogs, crew.places]) }
        return table.lines(firstColumn: Self.firstColumn, fitting: width)
    }

    private func owed(_ store: StoreStatus) -> [String] {
        guard !store.owed.isEmpty else { return ["owed deliveries".filled(to: Self.firstColumn) + "none"] }
        var table = TextTable(["owed deliveries", "count", "oldest due", "last due"])
        for group in store.owed {
            let title = [group.state, group.reason].compactMap { $0 }.joined(separator: ", ")
            table.add([title, Self.capped(group.count), distance(to: group.oldestDue), distance(to: group.latestDue)])
        }
        return table.lines(firstColumn: Self.firstColumn)
    }

    private func backlogs(_ store: StoreStatus) -> [String] {
        guard !store.backlogs.isEmpty else { return ["backlogs".filled(to: Self.firstColumn) + "none"] }
        // Without reports from processes the pace is unknown.
        let hasPace = !store.processes.isEmpty
        var table = TextTable(["backlogs", "count", "oldest"] + (hasPace ? ["per second", "left"] : []))
        for backlog in store.backlogs {
            let left = secondsLeft(of: backlog).map { Duration.seconds($0).roughly } ?? "-"
            let pace = hasPace ? [pace(of: backlog.name).map(\.grouped) ?? "-", left] : []
            table.add([backlog.name, Self.capped(backlog.count), distance(to: backlog.oldest)] + pace)
        }
        return table.lines(firstColumn: Self.firstColumn)
    }

    private func fanouts(_ store: StoreStatus) -> [String] {
        let fanouts = store.fanouts
        var counts: [String] = []
        if fanouts.running > 0 { counts.append("\(fanouts.running.grouped) running") }
        if fanouts.paused > 0 { counts.append("\(fanouts.paused.grouped) paused") }
        let summary = counts.isEmpty ? "none" : counts.joined(separator: ", ")
        return ["fan-outs".filled(to: Self.firstColumn) + summary]
            + fanouts.latest.map { progress in
                let name = "\(progress.record.number) \(progress.record.app) \(progress.record.type)"
                let state = progress.record.state == .paused ? "paused, " : ""
                return "  " + HumanText.cut(name, to: Self.firstColumn - 2).filled(to: Self.firstColumn - 2) + state
                    + FanoutAnswer(progress, hasWorker: store.hasWorker).line
            }
    }

    private func deadLetters(_ store: StoreStatus) -> [String] {
        guard !store.deadLetters.isEmpty else { return ["open dead letters".filled(to: Self.firstColumn) + "none"] }
        var table = TextTable(["open dead letters", "count", "latest"])
        for group in store.deadLetters {
            table.add(["\(group.stage), \(group.reason)", Self.capped(group.count), distance(to: group.latest)])
        }
        return table.lines(firstColumn: Self.firstColumn)
    }

    private func plannedWords(_ planned: StoreStatus.Planned) -> String {
        guard planned.count > 0 else { return "none" }
        return Self.capped(planned.count) + (planned.next.map { ", the next \(distance(to: $0))" } ?? "")
    }

    private static func words(_ outbox: OutboxLag?) -> String {
        guard let outbox else { return "-" }
        guard outbox.rows > 0 else { return "empty" }
        let rows = outbox.rows == 1 ? "1 row" : "\(outbox.rows.grouped) rows" + (outbox.isCapped ? " or more" : "")
        return "\(rows), the oldest written \(Duration.seconds(Int64(outbox.oldestAge)).roughly) ago"
    }

    private static func capped(_ count: Int) -> String {
        count >= StoreStatus.most ? "\(count.grouped) or more" : count.grouped
    }

    /// Returns `in 3 h` or `2 min ago` for microseconds since 1970.
    private func distance(to microseconds: Int64) -> String {
        let span = Instant(microseconds: microseconds) - time
        return span > .zero ? "in \(span.roughly)" : "\((.zero - span).roughly) ago"
    }
}
