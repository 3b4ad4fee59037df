import BellhopRules
import Postgres

/// Finds users who were erased while messages for them were in flight.
enum ErasedUsers {
    /// A user that a message is for, with the message's timestamp.
    struct Question {
        /// The index of the message.
        let message: Int
        let person: UserKey
        let saidAt: Timestamp?
    }

    static func parameters(_ questions: [Question]) -> [Parameter] {
        [
            .textArray(questions.map(\.person.app.text)),
            .bytesArray(questions.map { IdentityHash.recipient($0.person.app, $0.person.user).bytes }),
            .instantArray(questions.map { $0.saidAt?.microseconds }),
        ]
    }

    /// Returns for each message the users that it must no longer name.
    static func read(_ rows: Rows, _ questions: [Question]) throws(PostgresError) -> [Int: Set<UserKey>] {
        var erased: [Int: Set<UserKey>] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: questions.indices) else { continue }
            erased[questions[place].message, default: []].insert(questions[place].person)
        }
        return erased
    }

    /// The condition that `r` is older than the tombstone `t`.
    ///
    /// A message without a timestamp is older unless the user has been created again since.
    static let isOlder = """
        CASE WHEN r.said_at IS NULL THEN t.returned_at IS NULL ELSE r.said_at <= t.deleted_at END
        """

    /// The condition that the app's servers have not vouched for the user of `r` since the deletion, according to the
    /// tombstone.
    static let isGone = """
        NOT EXISTS (
            SELECT FROM tombstones x
            WHERE x.app = r.app AND x.subject_hash = r.person AND x.returned_at > r.said_at OFFSET 0)
        """

    static let lookUp = Statement(
        """
        SELECT r.position
        FROM unnest($1::text[], $2::bytea[], $3::timestamptz[]) WITH ORDINALITY AS r (app, person, said_at, position)
        CROSS JOIN LATERAL (
            SELECT deleted_at, returned_at FROM tombstones
            WHERE app = r.app AND subject_hash = r.person OFFSET 0
        ) AS t
        WHERE \(isOlder)
        """,
        effect: .reads
    )
}
