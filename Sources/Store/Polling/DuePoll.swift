package import BellhopRules
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

/// The users whose rows a statement may take from a queue, by their numbers.
///
/// If the server fails on one user's rows, the others are taken without that user.
package enum UserFilter: Sendable {
    case all(except: [Int64])
    /// Only rows of these users up to a time in the queue's order, so that the statement does not read the whole queue.
    case only([Int64], until: Timestamp)

    package static let everyone = UserFilter.all(except: [])

    /// Returns the span that a poll searches.
    ///
    /// Named users were found by an earlier poll, which may have reached further back.
    package func span(_ span: Duration) -> Duration {
        if case .only = self { DuePoll.whole } else { span }
    }

    /// The values of the three parameters of ``admits(_:at:_:)``.
    var parameters: [Parameter] {
        switch self {
        case .all(let numbers): [.integerArray(numbers), .boolean(false), .instant(Self.end)]
        case .only(let numbers, let until): [.integerArray(numbers), .boolean(true), .instant(until.microseconds)]
        }
    }

    /// The year 9999, later than any row.
    private static let end: Int64 = 253_402_300_799_000_000

    /// Returns the condition on the user's number and the time that orders the queue, for three consecutive parameters.
    static func admits(_ number: String, at time: String, _ first: Int) -> String {
        "(\(number) = ANY ($\(first)::bigint[])) = $\(first + 1)::boolean AND \(time) <= $\(first + 2)::timestamptz"
    }
}

/// The users at the head of a queue, the longest waiting first, and the time of the last row that was read.
package struct QueueHead: Sendable {
    package let users: [Int64]
    package let until: Timestamp

    package init(users: [Int64], until: Timestamp) {
        self.users = users
        self.until = until
    }

    /// Reads rows with the user's number and the time that orders the queue.
    init(_ rows: Rows) throws(PostgresError) {
        var (users, seen): ([Int64], Set<Int64>) = ([], [])
        for row in rows.indices {
            let number = try rows.integer(row, 0)
            if seen.insert(number).inserted { users.append(number) }
        }
        let until = try rows.indices.last.map { (row) throws(PostgresError) in try rows.moment(row, 1) }
        self.init(users: users, until: until ?? Timestamp(clamping: 0))
    }
}
