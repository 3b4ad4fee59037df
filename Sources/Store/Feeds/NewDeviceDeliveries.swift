import BellhopRules
import Postgres

/// Adds new devices to notifications that still wait for their users' quiet hours or digests.
///
/// Notifications that were sent or are being sent keep their devices: a retry or a replay adds none.
enum NewDeviceDeliveries {
    /// `fresh` contains the rows that a registration inserted: app, user and subscription id.
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
