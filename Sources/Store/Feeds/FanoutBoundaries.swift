import BellhopRules
import Postgres

/// Takes erased users out of the boundaries of open fan-outs.
///
/// A page is a range of user ids, so the ids at its ends are kept for as long as the fan-out is open, which a pause has no
/// limit for. A boundary moves to the last user of the audience before it: nobody is between the two, so no page gets or
/// loses a user, not even one that a worker has already taken.
enum FanoutBoundaries {
    /// `who` holds app and user of each; their rows are gone by now.
    static func forget(_ who: [Parameter], on connection: PostgresConnection) throws(PostgresError) {
        // A boundary beside another one may be an erased user's, too, and moves in the next round.
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

    /// The fan-outs that name one of the users as a boundary, and whom they are to name instead; locked before their pages,
    /// as by whoever plans a page.
    ///
    /// A user who is still there keeps the place: somebody who was fed again since.
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
        ORDER BY f.number
        FOR NO KEY UPDATE OF f
        """
    )

    private static let moves = "unnest($1::bigint[], $2::text[], $3::text[]) AS w (fanout, user_id, before)"

    private static let plan = Statement(
        """
        UPDATE fanouts f SET planned_to = w.before FROM \(moves)
        WHERE f.number = ANY (ARRAY[w.fanout]) AND f.planned_to = w.user_id
        """
    )

    private static let ends = Statement(
        """
        UPDATE fanout_pages p SET upto = w.before FROM \(moves)
        WHERE p.fanout = ANY (ARRAY[w.fanout]) AND p.upto = w.user_id
        """
    )

    private static let beginnings = Statement(
        """
        UPDATE fanout_pages p SET after = w.before FROM \(moves)
        WHERE p.fanout = ANY (ARRAY[w.fanout]) AND p.after = w.user_id
        """
    )
}
