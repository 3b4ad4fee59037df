package import BellhopRules
import Postgres

/// An entry of the audit.
package struct AuditEntry: Sendable {
    package let at: Timestamp
    package let `operator`: String
    package let act: String
    package let filter: JSONObject
    package let items: Int
    package let because: String
    package let replay: Int64?
    /// The database login of the action, which an operator cannot choose; `nil` for entries from before it was stored.
    package let login: String?
    /// The number by which the action can be undone.
    package let number: Int64

    static let columns = "at, operator, act, filter, items, because, replay_id, login, number"

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        at = try rows.moment(row, 0)
        self.operator = try rows.text(row, 1)
        act = try rows.text(row, 2)
        let json = JSONParser(limits: .event).parse(try rows.json(row, 3))
        filter = (try? json.get())?.object ?? JSONObject()
        items = try rows.number(row, 4)
        because = try rows.text(row, 5)
        replay = try rows.optionalInteger(row, 6)
        login = try rows.optionalText(row, 7)
        number = try rows.integer(row, 8)
    }
}
