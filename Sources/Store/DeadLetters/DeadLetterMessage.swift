import BellhopRules
import Postgres

/// An item with its message.
package struct DeadLetterMessage: Sendable {
    package var summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let contentHash: [UInt8]

    /// Creates the message of a dead letter that is not stored.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        contentHash = item.contentHash
    }

    /// The item as the filer would read it from the queue.
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
    /// Creates a message from the columns of its parts.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        summary = try DeadLetterSummary(rows, row)
        origin = try DeadLetterItem.Origin(rows, row)
        contentHash = try rows.bytes(row, "content_hash")
    }
}
