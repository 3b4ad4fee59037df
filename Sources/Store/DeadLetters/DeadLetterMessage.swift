import BellhopRules
import Postgres

/// An item with its message.
package struct DeadLetterMessage: Sendable {
    package var summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let contentHash: [UInt8]

    /// Of a letter that is not filed.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        contentHash = item.contentHash
    }

    /// As it would come with its letter.
    var item: DeadLetterItem {
        var item = DeadLetterItem(
            summary.deadID,
            summary.cause,
            failedAt: summary.lastFailedAt,
            origin: origin,
            contentHash: contentHash
        )
        item.attempts = summary.attempts
        item.delivery = summary.delivery
        return item
    }
}

extension DeadLetterMessage {
    /// From the columns of its parts.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        summary = try DeadLetterSummary(rows, row)
        origin = try DeadLetterItem.Origin(rows, row)
        contentHash = try rows.bytes(row, "content_hash")
    }
}
