import BellhopRules
import Postgres

/// A piece of SQL and the values of its parameters, which are numbered from 1.
struct SQLPiece {
    var sql: String
    var parameters: [Parameter]

    /// Adds a value and returns what stands for it in the text.
    mutating func bind(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }
}

extension DeadLetterFilter {
    /// The condition on `dead_letters d`, without the limit.
    ///
    /// Only what is asked for stands in the text, so that each combination is planned with the index that suits it.
    var condition: SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [])
        var terms = [stateTerm]
        let columns = [
            ("app", app), ("event_type", type), ("reason", reason), ("stage", stage), ("provider", provider),
            ("fingerprint", fingerprint), ("user_id", user), ("event_id", event),
        ]
        for (column, value) in columns {
            guard let value else { continue }
            terms.append("d.\(column) = \(piece.bind(.text(value)))")
        }
        if let text {
            let wanted = piece.bind(.text(text))
            let places = ["d.error", "coalesce(d.event_id, '')", "d.origin_routing_key"]
            terms.append(
                "(" + places.map { "strpos(lower(\($0)), lower(\(wanted))) > 0" }.joined(separator: " OR ") + ")"
            )
        }
        if let act { terms.append(Self.changed(by: piece.bind(.integer(act)))) }
        if let since { terms.append("d.last_failed_at >= \(piece.bind(.instant(since.microseconds)))") }
        if let until { terms.append("d.last_failed_at < \(piece.bind(.instant(until.microseconds)))") }
        if let filedBy { terms.append("d.filed_at <= \(piece.bind(.instant(filedBy.microseconds)))") }
        if let replayable {
            terms.append("d.replays < \(piece.bind(.integer(Int64(replayable.perItem))))")
            terms.append("d.first_failed_at >= \(piece.bind(.instant(replayable.failedSince.microseconds)))")
            terms.append("NOT \(CutBody.condition)")
        }
        if !ids.isEmpty { terms.append("d.dead_id = ANY(\(piece.bind(.textArray(ids)))::text[])") }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }

    /// Selects columns of the items that are meant, limit and all, those that failed last first unless a list has another
    /// order.
    func selection(
        of columns: String,
        atMost page: Int? = nil,
        in order: DeadLetterOrder = .newest
    ) -> SQLPiece {
        var piece = condition
        piece.sql = "SELECT \(columns) FROM dead_letters d WHERE \(piece.sql)"
        guard let most = [limit, page].compactMap({ $0 }).min() else { return piece }
        piece.sql += " ORDER BY \(order.sql) LIMIT \(piece.bind(.integer(Int64(most))))"
        return piece
    }

    /// The same, each row locked until the transaction ends; without a limit in the order in which all others lock.
    func lockedSelection(of columns: String) -> SQLPiece {
        var piece = selection(of: columns)
        piece.sql += limit == nil ? " ORDER BY d.dead_id FOR UPDATE OF d" : " FOR UPDATE OF d"
        return piece
    }

    /// What somebody has set aside or taken back since is not that act's any more, and neither is what has died again.
    private static func changed(by act: String) -> String {
        """
        EXISTS (SELECT FROM dead_letter_history h WHERE h.dead_id = d.dead_id AND h.act = \(act)
                AND NOT EXISTS (SELECT FROM dead_letter_history l WHERE l.dead_id = h.dead_id AND l.number > h.number
                                AND l.kind IN ('discarded', 'restored', 'died')))
        """
    }

    /// The names are our own, so they may stand in the text.
    private var stateTerm: String {
        "d.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
    }
}
