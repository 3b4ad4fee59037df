package import BellhopRules
import Postgres

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
