import BellhopRules
import Postgres

/// Removes erased users from the boundaries of open fan-outs.
///
/// A page is a range of user ids. The ids at its ends are stored as long as the fan-out is open, and a pause has no
/// limit. A boundary moves to the previous user of the audience. Since no user is between the two, no page gains or
/// loses a user, not even a page that a worker has already taken.
enum FanoutBoundaries {
    /// `who` contains the app and id of each user.
    ///
    /// Their rows are already deleted.
    static func forget(_ who: [Parameter], on connection: PostgresConnection) throws(PostgresError) {
        // An adjacent boundary may be an erased user, too. It moves in the next iteration.
        while true {
            let held = try connection.run(hold, who)
            guard !held.isEmpty else { return }
            var columns: (numbers: [Int64], users: [String], before: [String]) = ([], [], [])
            for row in held.indices {
                columns.numbers.append(try held.integer(row, 0))
                columns.users.append(try held.text(row, 1))
                columns.before.append(try held.text(row, 2))
            }
            let moves: [Parameter] = [
                .integerArray(columns.numbers), .textArray(columns.users), .textArray(columns.before),
            ]
            for statement in [plan, ends, beginnings] { _ = try connection.run(statement, moves) }
        }
    }

    /// The fan-outs with one of the users as a boundary, and the new boundaries.
    ///
    /// They are locked before their pages, in the same order as for planning a page.
    ///
    /// A user with rows stays a boundary, since the user was created again.
    private static let hold = Statement(
        """
        SELECT f.number, w.user_id, w.before
        FROM (
            SELECT o.number, r.user_id, coalesce(CASE
                       WHEN o.topic IS NULL THEN (
                           SELECT c.user_id FROM recipients c WHERE c.app = r.app AND c.user_id <= r.user_id
                           ORDER BY c.user_id DESC LIMIT 1)
                       ELSE (
                           SELECT c.user_id FROM follows c
                           WHERE c.app = r.app AND c.topic = o.topic AND c.removed_at IS NULL AND c.user_id <= r.user_id
                           ORDER BY c.user_id DESC LIMIT 1)
                   END, '') AS before
            FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
            CROSS JOIN LATERAL fanouts_bounded_by(r.app, r.user_id) AS o (number, topic)
        ) AS w
        JOIN fanouts f ON f.number = ANY (ARRAY[w.number])
        WHERE w.before <> w.user_id
        ORDER BY w.number
        FOR NO KEY UPDATE OF f
        """
    )

    private static let moves = "unnest($1::bigint[], $2::text[], $3::text[]) AS w (fanout, user_id, before)"

    private static let plan = Statement(
        """
        UPDATE fanouts f SET planned_to = w.before FROM \(moves)
        WHERE f.number = ANY (ARRAY[w.fanout]) AND f.planned_to || '' = w.user_id
        """
    )

    private static let ends = Statement(
        """
        UPDATE fanout_pages p SET upto = w.before FROM \(moves)
        WHERE p.fanout + 0 = w.fanout AND p.upto = ANY (ARRAY[w.user_id])
        """
    )

    private static let beginnings = Statement(
        """
        UPDATE fanout_pages p SET after = w.before FROM \(moves)
        WHERE p.fanout + 0 = w.fanout AND p.after = ANY (ARRAY[w.user_id])
        """
    )
}
