import BellhopRules
import Postgres

/// The users' numbers in inbox and ledger.
enum UserNumbers {
    /// Locks the rows of users by the parameters of ``UserKey``, in the order that all statements use.
    static func hold(_ strength: String) -> Statement {
        Statement(
            """
            SELECT count(*) FROM (
                SELECT FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
                JOIN people p ON p.user_id = ANY (ARRAY[r.user_id]) AND p.app = r.app
                ORDER BY r.user_id COLLATE "C", r.app COLLATE "C"
                \(strength) OF p
            ) AS held
            """
        )
    }

    /// Assigns numbers to users without one, and returns the numbers of all users.
    ///
    /// Users who were erased and not created again since get none.
    ///
    /// Most users are fed before anything is sent to them and therefore have a number. This is for the others.
    static func enrol(
        _ keys: [UserKey],
        saidAt: [Timestamp?],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [UserKey: PersonNumber] {
        let who = UserKey.parameters(keys)
        let hashes: Parameter = .bytesArray(keys.map { IdentityHash.recipient($0.app, $0.user).bytes })
        _ = try connection.run(enrol, who + [hashes, .instantArray(saidAt.map { $0?.microseconds })])
        return try numbers(of: keys, on: connection)
    }

    /// Returns the numbers of users; users without a number are omitted.
    static func numbers(
        of keys: [UserKey],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [UserKey: PersonNumber] {
        let rows = try connection.run(numbers, UserKey.parameters(keys))
        var found: [UserKey: PersonNumber] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices) else { continue }
            found[keys[place]] = try rows.personNumber(row, 1)
        }
        return found
    }

    private static let enrol = Statement(
        """
        INSERT INTO people (app, user_id)
        SELECT DISTINCT r.app, r.user_id
        FROM unnest($1::text[], $2::text[], $3::bytea[], $4::timestamptz[]) AS r (app, user_id, person, said_at)
        WHERE NOT EXISTS (
                SELECT FROM tombstones t
                WHERE t.app = r.app AND t.subject_hash = r.person
                  AND \(ErasedUsers.isOlder)
                OFFSET 0
            )
          AND NOT EXISTS (SELECT FROM people p WHERE p.user_id = r.user_id AND p.app = r.app OFFSET 0)
        ORDER BY r.user_id, r.app
        ON CONFLICT (user_id, app) DO NOTHING
        """
    )

    private static let numbers = Statement(
        """
        SELECT w.position, p.number
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id
        ) AS w
        CROSS JOIN LATERAL \(UserKey.number(of: "w")) AS p
        """,
        effect: .reads
    )
}

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
