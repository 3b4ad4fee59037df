import Postgres

/// The users whose rows a statement may take, by their numbers.
///
/// If the server fails on one user's rows, the others are taken without that user.
package enum UserFilter: Sendable {
    case all(except: [Int64])
    case only([Int64])

    package static let everyone = UserFilter.all(except: [])

    /// The values of the two parameters of ``admits(_:_:)``.
    var parameters: [Parameter] {
        switch self {
        case .all(let numbers): [.integerArray(numbers), .boolean(false)]
        case .only(let numbers): [.integerArray(numbers), .boolean(true)]
        }
    }

    /// Returns the condition on a column with the user's number, for two consecutive parameters.
    static func admits(_ column: String, _ first: Int) -> String {
        "(\(column) = ANY ($\(first)::bigint[])) = $\(first + 1)::boolean"
    }
}

extension Rows {
    /// Returns the users of a row's first column, each once, in the order of the rows.
    func users() throws(PostgresError) -> [Int64] {
        var seen: Set<Int64> = []
        return try compactMap { (rows, row) throws(PostgresError) in
            let number = try rows.integer(row, 0)
            return seen.insert(number).inserted ? number : nil
        }
    }
}
