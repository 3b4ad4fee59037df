import Postgres

/// The result of one poll for due items, the longest due first.
package struct DuePollResult<Item: Sendable>: Sendable, RandomAccessCollection {
    private let items: [Item]
    /// The maximum time for which a remaining item has been due; `nil` if no due item remains.
    package let left: Duration?

    init(_ items: [Item], left: Duration?) {
        self.items = items
        self.left = left
    }

    /// Creates the result of a poll of at most `limit` rows.
    ///
    /// If it returned as many, the remaining items became due after the last of them.
    ///
    /// The column contains ``DuePoll/age(of:)`` of each row, or NULL for a row from another queue.
    init(_ items: [Item], from rows: Rows, age column: Column, limit: Int) throws(PostgresError) {
        let ages = try rows.map { (rows, row) throws(PostgresError) in try rows.optionalInteger(row, column) }
        let due = ages.compactMap { $0 }
        self.init(items, left: due.count < limit ? nil : due.min().map { .milliseconds($0) })
    }

    /// Creates the result of a poll in several parts.
    package init(joining parts: [DuePollResult], left: Duration?) {
        self.init(parts.flatMap(\.items), left: left)
    }

    package var startIndex: Int { items.startIndex }
    package var endIndex: Int { items.endIndex }
    package subscript(index: Int) -> Item { items[index] }
}

/// The SQL for how far back a poll for due items searches.
package enum DuePoll {
    /// Longer than any item can be overdue: the poll begins at the start of the queue.
    package static let whole = Duration.seconds(1_000 * 366 * 86_400)

    /// Returns the condition for the search range.
    ///
    /// The queue's index begins with the column, or has it after the other given columns.
    static func reaches(_ column: String, _ span: String) -> String {
        "\(column) >= now() - \(span)::bigint * interval '1 ms'"
    }

    /// Returns an expression for the time that an item has been due, in milliseconds, rounded up.
    static func age(of column: String) -> String { "ceil(extract(epoch FROM now() - \(column)) * 1000)::bigint" }
}
