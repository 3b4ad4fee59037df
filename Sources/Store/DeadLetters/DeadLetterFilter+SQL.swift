import BellhopRules
import Postgres

/// A piece of SQL and the values of its parameters, which are numbered from 1.
struct SQLPiece {
    var sql: String
    var parameters: [Parameter]

    /// Adds a value and returns its placeholder.
    mutating func bind(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }
}

extension DeadLetterFilter {
    /// The condition on `dead_letters d`, without the limit.
    ///
    /// The text contains only the given conditions, so that each combination is planned with a suitable index.
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
            terms.append("NOT \(TruncatedBody.condition)")
        }
        if !ids.isEmpty { terms.append("d.dead_id = ANY(\(piece.bind(.textArray(ids)))::text[])") }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }

    /// Selects columns of the matching items, up to the limit.
    ///
    /// Unless another order is given, the latest failures come first.
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

    /// Selects like `selection` and locks each row until the transaction ends.
    ///
    /// Without a limit, it locks in the order of all other statements.
    func lockedSelection(of columns: String) -> SQLPiece {
        var piece = selection(of: columns)
        piece.sql += limit == nil ? " ORDER BY d.dead_id FOR UPDATE OF d" : " FOR UPDATE OF d"
        return piece
    }

    /// The condition that an action's change is still in effect: the item was not discarded, restored or dead-lettered
    /// again since.
    private static func changed(by act: String) -> String {
        """
        EXISTS (SELECT FROM dead_letter_history h WHERE h.dead_id = d.dead_id AND h.act = \(act)
                AND NOT EXISTS (SELECT FROM dead_letter_history l WHERE l.dead_id = h.dead_id AND l.number > h.number
                                AND l.kind IN ('discarded', 'restored', 'died')))
        """
    }

    /// The state names are constants of the program and therefore safe in the text.
    private var stateTerm: String {
        "d.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
    }
}
