import Postgres

/// The number by which inbox and ledger name a user, with the history of the database in which it was looked up.
///
/// In another history the same number may be another user's.
package struct PersonNumber: Hashable, Sendable {
    let value: Int64
    let history: DatabaseHistory
}

extension RecipientKey {
    /// The number, if it is valid in this history.
    func number(in history: DatabaseHistory) -> Int64? {
        guard let number, number.history == history else { return nil }
        return number.value
    }
}

extension Rows {
    /// A user's number.
    func personNumber(_ row: Int, _ column: Column) throws(PostgresError) -> PersonNumber {
        PersonNumber(value: try integer(row, column), history: history)
    }

    /// The same; `nil` for NULL.
    func optionalPersonNumber(_ row: Int, _ column: Column) throws(PostgresError) -> PersonNumber? {
        try optionalInteger(row, column).map { PersonNumber(value: $0, history: history) }
    }
}
