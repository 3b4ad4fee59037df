import BellhopRules
import Postgres

/// A row of `fanouts`, held so that nobody else plans its pages meanwhile.
struct HeldFanout {
    let number: Parameter
    let app: String
    let topic: String?
    let startedAt: Int64
    let isRunning: Bool
    private let isCancelled: Bool
    private let priority: Priority
    private let planned: Int64
    private let plannedTo: String
    private let isPlanned: Bool

    static func hold(_ number: Parameter, on connection: PostgresConnection) throws(PostgresError) -> HeldFanout? {
        let rows = try connection.run(FanoutStatements.hold, [number])
        return rows.isEmpty ? nil : try HeldFanout(number, rows)
    }

    private init(_ number: Parameter, _ rows: Rows) throws(PostgresError) {
        self.number = number
        app = try rows.text(0, 0)
        topic = try rows.optionalText(0, 1)
        startedAt = try rows.instant(0, 2)
        let state = try rows.text(0, 3)
        isRunning = state == "running"
        isCancelled = state == "cancelled"
        priority = Priority(urgency: try rows.integer(0, 4))
        planned = try rows.integer(0, 5)
        plannedTo = try rows.text(0, 6)
        isPlanned = try rows.boolean(0, 7)
    }

    /// Plans pages until enough of them are under way, and returns those that are to be published.
    ///
    /// What a paused one has planned waits for somebody to resume it.
    func topUp(on connection: PostgresConnection, _ usersPerPage: Int) throws(PostgresError) -> [FanoutPage] {
        guard !isPlanned, !isCancelled else { return [] }
        let open = try connection.run(FanoutStatements.openPages, [number]).number(0, 0)
        var (pages, after, isLast): ([FanoutPage], String, Bool) = ([], plannedTo, false)
        var next = planned
        for _ in 0..<max(0, FanoutBook.pagesAtOnce - open) where !isLast {
            let upto = try bound(after, on: connection, usersPerPage)
            let page: [Parameter] = [number, .integer(next), .text(after), upto.map(Parameter.text) ?? .null]
            _ = try connection.run(FanoutStatements.plan, page + [.boolean(isRunning)])
            if case .integer(let fanout) = number {
                pages.append(FanoutPage(fanout: fanout, page: next, priority: priority))
            }
            next += 1
            isLast = upto == nil
            after = upto ?? after
        }
        guard next > planned else { return [] }
        _ = try connection.run(
            FanoutStatements.planned,
            [number, .integer(next), .text(after), .boolean(isLast)]
        )
        return isRunning ? pages : []
    }

    /// The last user of the page that begins beyond `after`; nil where it is the last page.
    private func bound(
        _ after: String,
        on connection: PostgresConnection,
        _ usersPerPage: Int
    ) throws(PostgresError) -> String? {
        let rest: [Parameter] = [.text(after), .integer(Int64(usersPerPage))]
        let rows =
            if let topic {
                try connection.run(FanoutStatements.topicBound, [.text(app), .text(topic)] + rest)
            } else {
                try connection.run(FanoutStatements.everyoneBound, [.text(app)] + rest)
            }
        return rows.isEmpty ? nil : try rows.text(0, 0)
    }
}
