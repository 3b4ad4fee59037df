import Postgres

/// The number of a user in inbox and ledger, with the database history in which it was looked up.
///
/// In another history the same number may belong to another user.
package struct PersonNumber: Hashable, Sendable {
    let value: Int64
    let history: DatabaseHistory
}

extension UserKey {
    /// Returns the number if it is valid in this history.
    func number(in history: DatabaseHistory) -> Int64? {
        guard let number, number.history == history else { return nil }
        return number.value
    }
}

extension Rows {
    /// Reads a user's number.
    func personNumber(_ row: Int, _ column: Column) throws(PostgresError) -> PersonNumber {
        PersonNumber(value: try integer(row, column), history: history)
    }

    /// Reads a user's number; `nil` for NULL.
    func optionalPersonNumber(_ row: Int, _ column: Column) throws(PostgresError) -> PersonNumber? {
        try optionalInteger(row, column).map { PersonNumber(value: $0, history: history) }
    }
}
