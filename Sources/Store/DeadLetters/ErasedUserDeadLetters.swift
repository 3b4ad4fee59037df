import BellhopRules
import Postgres

/// Removes erased users from dead letters, both new and stored ones.
enum ErasedUserDeadLetters {
    /// Returns the dead letters as they may be stored: without users who were erased after the message's timestamp, and
    /// without messages that were for no others.
    static func spare(
        _ items: [DeadLetterItem],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [DeadLetterItem] {
        let questions = items.indices.flatMap { index in
            let audience = DeadLetterAudience(of: items[index])
            return audience.people.map {
                ErasedUsers.Question(message: index, person: $0, saidAt: audience.saidAt)
            }
        }
        guard !questions.isEmpty else { return items }
        let rows = try connection.run(ErasedUsers.lookUp, ErasedUsers.parameters(questions))
        let erased = try ErasedUsers.read(rows, questions)
        guard !erased.isEmpty else { return items }
        return items.indices.compactMap { index in
            guard let people = erased[index] else { return items[index] }
            return items[index].without(people)
        }
    }

    /// Removes users from stored dead letters, a page at a time.
    ///
    /// The loop ends because each page removes some of them.
    ///
    /// `who` contains for each user the app, the user id, the timestamp of the erasure, and the hash that represents
    /// the user.
    static func erase(
        _ people: [UserKey],
        by who: [Parameter],
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        while true {
            let rows = try connection.run(find, who)
            var letters: [String: (body: [UInt8], people: Set<UserKey>)] = [:]
            for row in rows.indices {
                guard let place = try rows.place(row, 2, in: people.indices) else { continue }
                let body = try rows.bytes(row, 1)
                letters[try rows.text(row, 0), default: (body, [])].people
                    .insert(people[place])
            }
            guard !letters.isEmpty else { return }
            for (id, letter) in letters.sorted(by: { $0.key < $1.key }) {
                try rewrite(id, letter.body, without: letter.people, connection)
            }
        }
    }

    private static func rewrite(
        _ id: String,
        _ body: [UInt8],
        without people: Set<UserKey>,
        _ connection: PostgresConnection
    ) throws(PostgresError) {
        guard let rest = DeadLetterAudience.body(body, without: people) else {
            _ = try connection.run("DELETE FROM dead_letters WHERE dead_id = $1", [.text(id)])
            return
        }
        let hashes = people.map { IdentityHash.recipient($0.app, $0.user).hex }
        _ = try connection.run(takeOut, [.text(id), .bytes(rest), .textArray(hashes)])
    }

    /// Locks a page of dead letters for any of these users.
    ///
    /// Newer dead letters of users who were created again are excluded.
    private static let find = Statement(
        """
        SELECT d.dead_id, d.body, r.position
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[]) WITH ORDINALITY
             AS r (app, user_id, said_at, person, position)
        CROSS JOIN LATERAL letters_about(encode(r.person, 'hex')) AS l (dead_id)
        JOIN dead_letters d ON d.dead_id = ANY (ARRAY[l.dead_id])
        WHERE d.first_failed_at <= r.said_at OR \(ErasedUsers.isGone)
        ORDER BY l.dead_id LIMIT 20
        FOR UPDATE OF d
        """
    )

    private static let takeOut = Statement(
        """
        UPDATE dead_letters
        SET body = $2, changed_at = now(),
            people = ARRAY(SELECT p FROM unnest(people) AS p WHERE p <> ALL ($3::text[]))
        WHERE dead_id = $1
        """
    )
}

extension DeadLetterItem {
    /// Returns the item without these users; `nil` if it was for no others.
    fileprivate func without(_ people: Set<UserKey>) -> DeadLetterItem? {
        if let user = cause.user, people.contains(where: { $0.user.text == user }) { return nil }
        guard let body = DeadLetterAudience.body(origin.body, without: people) else { return nil }
        var other = self
        other.origin.body = body
        return other
    }

    /// The hashes by which the message's users are found, joined by commas; `nil` if there are no users.
    var peopleHashes: String? {
        let people = DeadLetterAudience(of: self).people
        guard !people.isEmpty else { return nil }
        return people.map { IdentityHash.recipient($0.app, $0.user).hex }.joined(separator: ",")
    }
}
