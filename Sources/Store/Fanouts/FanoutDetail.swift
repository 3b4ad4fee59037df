package import BellhopRules
import Postgres

/// What only a look at one fan-out shows.
package struct FanoutDetail: Sendable {
    /// A page that is planned and not finished.
    package struct Page: Sendable {
        package let number: Int
        /// When its message was published last, or taken; nil while nobody is meant to take it.
        package let handedOverAt: Timestamp?
        /// When a worker began with it.
        package let takenAt: Timestamp?

        init(_ rows: Rows, _ row: Int) throws(PostgresError) {
            number = try rows.number(row, 0)
            handedOverAt = try rows.timestamp(row, 1)
            takenAt = try rows.timestamp(row, 2)
        }
    }

    /// What an operator did to it, or to what it had sent into a hold.
    package struct Done: Sendable {
        package let at: Timestamp
        package let `operator`: String
        package let act: String
        package let because: String
        /// Deliveries that were discarded, where it was that.
        package let discarded: Int?
        /// Whether it was about others, too.
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
    /// The latest first.
    package let acts: [Done]
}
