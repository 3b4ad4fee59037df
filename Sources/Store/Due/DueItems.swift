import Postgres

/// What one look at a queue of due things has found, the longest due first.
package struct DueItems<Item: Sendable>: Sendable, RandomAccessCollection {
    private let items: [Item]
    /// For how long the next that may be left has been due at most; nil where nothing that is due is left.
    package let left: Duration?

    init(_ items: [Item], left: Duration?) {
        self.items = items
        self.left = left
    }

    /// From a look that took `limit` rows at most: where it took as many, what came due after the last of them is left.
    ///
    /// The column holds ``DueLook/age(of:)`` of each row, or NULL where a row came from another queue.
    init(_ items: [Item], from rows: Rows, age column: Column, limit: Int) throws(PostgresError) {
        let ages = try rows.map { (rows, row) throws(PostgresError) in try rows.optionalInteger(row, column) }
        let due = ages.compactMap { $0 }
        self.init(items, left: due.count < limit ? nil : due.min().map { .milliseconds($0) })
    }

    package var startIndex: Int { items.startIndex }
    package var endIndex: Int { items.endIndex }
    package subscript(index: Int) -> Item { items[index] }
}

/// How far back a look at a queue of due things goes.
package enum DueLook {
    /// Further than anything can be overdue: the look begins at the very beginning.
    package static let whole = Duration.seconds(1_000 * 366 * 86_400)

    /// The condition that says so; the index of the queue begins with the column, or has it behind what is given.
    static func reaches(_ column: String, _ span: String) -> String {
        "\(column) >= now() - \(span)::bigint * interval '1 ms'"
    }

    /// For how long something has been due, in milliseconds, rounded up.
    static func age(of column: String) -> String { "ceil(extract(epoch FROM now() - \(column)) * 1000)::bigint" }
}
