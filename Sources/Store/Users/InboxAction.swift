package import BellhopRules
package import Postgres

/// A user's action on notifications.
package enum InboxAction: Hashable, Sendable {
    /// The user has seen them.
    case seen
    /// Marks them as read, and also as seen.
    case read
    case unread
    case archived
    case unarchived
    /// Hides them until a time. Then they are at the top of the list again, unread.
    case snoozed(until: Timestamp)

    /// The change, and the condition under which it is already made.
    var change: (set: String, unless: String) {
        switch self {
        case .seen: ("seen_at = now()", "seen_at IS NOT NULL")
        case .read: ("read_at = now(), seen_at = coalesce(seen_at, now())", "read_at IS NOT NULL")
        case .unread: ("read_at = NULL", "read_at IS NULL")
        case .archived: ("archived_at = now()", "archived_at IS NOT NULL")
        case .unarchived: ("archived_at = NULL", "archived_at IS NULL")
        case .snoozed:
            (
                "snoozed_until = $2, read_at = NULL, archived_at = NULL",
                "snoozed_until IS NOT DISTINCT FROM $2 AND read_at IS NULL AND archived_at IS NULL"
            )
        }
    }

    var parameters: [Parameter] {
        guard case .snoozed(let until) = self else { return [] }
        return [.instant(until.microseconds)]
    }
}

extension UserStore {
    /// Marks notifications and returns the number of changed ones.
    ///
    /// Unknown ids and those of other users change nothing.
    package func mark(
        _ ids: [NotificationID],
        as mark: InboxAction,
        of reader: UserKey
    ) async throws(PostgresError) -> Int {
        let statement = Self.marking(mark, "id = ANY ($1::bigint[])")
        return try await change(statement, [.integerArray(ids.map(\.number))] + mark.parameters, of: reader)
    }

    /// Marks all notifications that are not snoozed.
    package func markAll(as mark: InboxAction, of reader: UserKey) async throws(PostgresError) -> Int {
        let isAwake = "$1::boolean AND (snoozed_until IS NULL OR snoozed_until <= now())"
        return try await change(Self.marking(mark, isAwake), [.boolean(true)] + mark.parameters, of: reader)
    }

    /// Serialises a user's changes, since two statements that lock rows in different orders would deadlock.
    private func change(
        _ statement: Statement,
        _ parameters: [Parameter],
        of reader: UserKey
    ) async throws(PostgresError) -> Int {
        let answers = try await ask(reader, [(Self.takeTurn, Self.who(reader)), (statement, parameters)])
        return answers[1].affectedCount
    }

    private static func marking(_ mark: InboxAction, _ which: String) -> Statement {
        let change = mark.change
        return Statement(
            """
            UPDATE inbox SET \(change.set)
            WHERE person = (SELECT signed_in_person()) AND \(which) AND NOT (\(change.unless))
            """
        )
    }

    private static let takeTurn = Statement(
        "SELECT pg_advisory_xact_lock(hashtextextended('inbox ' || $1::text || ' ' || $2::text, 1))"
    )
}
