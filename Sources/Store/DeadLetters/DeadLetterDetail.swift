package import BellhopRules
import Postgres

/// Everything that is known of one item.
package struct DeadLetterDetail: Sendable {
    package let summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let history: [Entry]
    /// The item that is its corrected copy.
    package let editedInto: String?
    /// Whether it lies in the table; else it was read from the broker's queue.
    package let isFiled: Bool

    /// Something that happened to it.
    package struct Entry: Sendable {
        package let at: Timestamp
        package let kind: String
        package let `operator`: String?
        package let words: String
    }
}

extension DeadLetterDetail {
    /// Of a letter that is not filed: nothing has happened to it yet.
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
