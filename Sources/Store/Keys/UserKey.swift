package import BellhopRules
import Postgres

/// A user of an app: the key of all data of that user.
package struct UserKey: Sendable {
    package let app: AppID
    package let user: UserID
    /// The number of the user in inbox and ledger; `nil` if it was not looked up or does not exist yet.
    ///
    /// It is not part of the identity: two keys are equal with or without it.
    package var number: PersonNumber?

    package init(app: AppID, user: UserID) {
        self.app = app
        self.user = user
    }

    /// Creates a key from texts; `nil` if one is missing or invalid.
    init?(_ app: String?, _ user: String?) {
        guard let app = app.flatMap(AppID.init(validating:)), let user = user.flatMap(UserID.init(validating:)) else {
            return nil
        }
        self.init(app: app, user: user)
    }
}

extension UserKey: Hashable {
    package static func == (one: UserKey, other: UserKey) -> Bool {
        one.user == other.user && one.app == other.app
    }

    /// Hashes the user alone, since few users of several apps have the same id.
    package func hash(into hasher: inout Hasher) { hasher.combine(user) }
}

extension UserKey {
    static func parameters(_ keys: some Collection<UserKey>) -> [Parameter] {
        [.textArray(keys.map(\.app.text)), .textArray(keys.map(\.user.text))]
    }
}

extension UserKey {
    /// Selects the number of the user that `key` names by `app` and `user_id`.
    static func number(of key: String) -> String { columns("number", of: key) }

    /// Selects the complete row of the user that `key` names by `app` and `user_id`.
    static func row(of key: String) -> String { columns("*", of: key) }

    private static func columns(_ columns: String, of key: String) -> String {
        "(SELECT \(columns) FROM people WHERE user_id = \(key).user_id AND app = \(key).app OFFSET 0)"
    }
}

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
