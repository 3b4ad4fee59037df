package import BellhopRules
import Postgres

/// The details of one fan-out that a list does not contain.
package struct FanoutDetail: Sendable {
    /// A page that is planned and not finished.
    package struct Page: Sendable {
        package let number: Int
        /// When its message was last published or taken; `nil` while the page is not to be taken.
        package let handedOverAt: Timestamp?
        /// When a worker began to process it.
        package let takenAt: Timestamp?

        init(_ rows: Rows, _ row: Int) throws(PostgresError) {
            number = try rows.number(row, 0)
            handedOverAt = try rows.timestamp(row, 1)
            takenAt = try rows.timestamp(row, 2)
        }
    }

    /// An operator's action on the fan-out, or on its held deliveries.
    package struct Done: Sendable {
        package let at: Timestamp
        package let `operator`: String
        package let act: String
        package let because: String
        /// The number of discarded deliveries, if the action discarded held deliveries.
        package let discarded: Int?
        /// Whether the action also affected other fan-outs.
        package let isWider: Bool

        init(_ rows: Rows, _ row: Int) throws(PostgresError) {
            at = try rows.moment(row, 0)
            self.operator = try rows.text(row, 1)
            act = try rows.text(row, 2)
            because = try rows.text(row, 3)
            discarded = try rows.optionalInteger(row, 4).map { Int(clamping: $0) }
            isWider = try rows.boolean(row, 5)
        }
    }

    package let pages: [Page]
    /// The actions, the latest first.
    package let acts: [Done]
}
