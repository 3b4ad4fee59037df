import BellhopRules
package import Postgres

/// The outcomes of a replay over time, from its beginning until now or its end, in intervals of equal length.
package struct ReplayTimeline: Sendable {
    /// The number of items settled in each interval, without items that were cancelled before they were sent.
    package internal(set) var settled = Array(repeating: 0, count: Self.parts)
    /// The number of them that failed.
    package internal(set) var failed = Array(repeating: 0, count: Self.parts)

    /// The number of intervals, the same as the hours in a group's last day.
    package static let parts = 24

    /// Creates a course without outcomes.
    package init() {}
}

extension ReplayAdmin {
    /// Returns a replay's outcomes over time.
    package func course(of id: Int64) async throws(PostgresError) -> ReplayTimeline {
        let rows = try await pool.run(Self.course, [.integer(id)])
        var course = ReplayTimeline()
        for row in rows.indices {
            let part = try rows.number(row, 0)
            guard course.settled.indices.contains(part) else { continue }
            course.settled[part] += try rows.number(row, 1)
            course.failed[part] += try rows.number(row, 2)
        }
        return course
    }

    /// Items that are settled exactly at the end belong to the last interval.
    private static let course = Statement(
        """
        SELECT least(floor(extract(epoch FROM i.settled_at - r.started_at) * \(ReplayTimeline.parts)
                           / greatest(extract(epoch FROM coalesce(r.finished_at, now()) - r.started_at), 0.001)),
                     \(ReplayTimeline.parts - 1))::bigint AS part,
               count(*), count(*) FILTER (WHERE i.outcome IN (\(ReplayOutcome.list(where: \.isFailure))))
        FROM replay_items i JOIN replays r ON r.id = i.replay_id
        WHERE i.replay_id = $1 AND i.state = 'settled' AND i.outcome <> '\(ReplayOutcome.cancelled.rawValue)'
        GROUP BY part
        """,
        effect: .reads
    )
}
