import BellhopRules
import Postgres

/// Gives devices that are new a part in what still waits for their users' quiet hours or digests.
///
/// What has gone out, or is being tried, stays with the devices that there were: a retry or a replay adds none.
enum LateDevices {
    /// `fresh` holds the rows that a registration has made: app, user, and the subscription's id.
    static func join(_ fresh: Rows, on connection: PostgresConnection) throws(PostgresError) {
        guard !fresh.isEmpty else { return }
        var columns: [[String?]] = [[], [], []]
        for row in fresh.indices {
            for place in columns.indices { columns[place].append(try fresh.text(row, .index(place))) }
        }
        let waits: Parameter = .textArray(Wait.Reason.allCases.map(\.rawValue))
        _ = try connection.run(join, columns.map { .textArray($0) } + [waits])
    }

    private static let join = Statement("SELECT join_late_devices($1, $2, $3, $4)")
}
