package import BellhopRules
import Postgres

/// All data of one item.
package struct DeadLetterDetail: Sendable {
    package let summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let history: [Entry]
    /// The id of the item's corrected copy.
    package let editedInto: String?
    /// Whether the item is in the table; otherwise it was read from the broker's queue.
    package let isFiled: Bool

    /// An event in the item's history.
    package struct Entry: Sendable {
        package let at: Timestamp
        package let kind: String
        package let `operator`: String?
        package let words: String
    }
}

extension DeadLetterDetail {
    /// Creates the details of a dead letter that is not stored and therefore has no history.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        history = []
        editedInto = nil
        isFiled = false
    }
}

extension DeadLetterDetail.Entry {
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        at = try rows.moment(row, 0)
        kind = try rows.text(row, 1)
        self.operator = try rows.optionalText(row, 2)
        words = try rows.text(row, 3)
    }
}
