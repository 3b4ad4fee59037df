package import BellhopRules
package import Postgres

extension UserStore {
    /// Returns a snapshot of the user's newest notifications, with the number of unread ones that count.
    package func glimpse(
        of reader: UserKey,
        uncounted: [EventType] = []
    ) async throws(PostgresError) -> InboxSnapshot {
        let top: [Parameter] =
            Self.place(.beginning) + [.boolean(false), .null, .integer(Int64(InboxSnapshot.reach))]
            + [.textArray(uncounted.map(\.text))]
        let answers = try await ask(reader, [(Self.glimpse, top), (Self.settingsPrint, Self.who(reader))])
        let answer = answers[0]
        return InboxSnapshot(
            rows: try answer.compactMap { (rows, row) throws(PostgresError) -> InboxSnapshot.Row? in
                // An empty inbox has a count, too.
                guard let listedAt = try rows.timestamp(row, 3) else { return nil }
                return InboxSnapshot.Row(
                    place: InboxPosition(
                        listedAt: listedAt,
                        id: NotificationID(number: try rows.integer(row, 4))
                    ),
                    isRead: try rows.boolean(row, 5),
                    isSeen: try rows.boolean(row, 6),
                    isCounted: try rows.boolean(row, 7)
                )
            },
            unread: try answer.number(0, 0),
            wakesAt: try answer.timestamp(0, 1),
            takenAt: try answer.moment(0, 2),
            settings: SettingsPrint(hash: try answers[1].integer(0, 0))
        )
    }

    /// Returns notifications of the list by their ids.
    ///
    /// Ids that do not exist or are not in the list are omitted.
    package func items(
        _ ids: [NotificationID],
        of reader: UserKey
    ) async throws(PostgresError) -> [NotificationID: InboxItem] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await ask(reader, [(Self.named, [.integerArray(ids.map(\.number))])])[0]
        let items = try rows.compactMap(InboxItem.init)
        return Dictionary(items.map { ($0.id, $0) }) { first, _ in first }
    }

    /// Returns the locations of notifications that have left the list.
    ///
    /// Deleted notifications are omitted.
    package func exits(
        of ids: [NotificationID],
        of reader: UserKey
    ) async throws(PostgresError) -> [NotificationID: RemovedReason] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await ask(reader, [(Self.exits, [.integerArray(ids.map(\.number))])])[0]
        var exits: [NotificationID: RemovedReason] = [:]
        for row in rows.indices {
            let id = NotificationID(number: try rows.integer(row, 0))
            exits[id] = try rows.boolean(row, 1) ? .archived : .snoozed
        }
        return exits
    }

    /// One statement, so that all parts are from the same moment.
    ///
    /// Otherwise a changed count could be reported without the notification that caused it.
    private static let glimpse = Statement(
        """
        SELECT whole.unread, whole.wakes_at, now(), top.*
        FROM (SELECT (\(countOfUnread("$6"))) AS unread, (\(nextToWake)) AS wakes_at) AS whole
        LEFT JOIN (\(list(activeParts, of: glimpsed))) AS top ON true
        ORDER BY top.listed_at DESC, top.id DESC
        """,
        effect: .reads
    )

    private static let glimpsed =
        "listed_at, id, read_at IS NOT NULL, seen_at IS NOT NULL, type <> ALL ($6::text[])"

    private static let nextToWake = """
        SELECT snoozed_until FROM inbox
        WHERE person = (SELECT signed_in_person()) AND snoozed_until > now() AND archived_at IS NULL
        ORDER BY snoozed_until, id LIMIT 1
        """

    private static let named = Statement(
        """
        SELECT \(InboxItem.columns) FROM (
            SELECT *, coalesce(snoozed_until, created_at) AS listed_at FROM inbox
            WHERE person = (SELECT signed_in_person()) AND id = ANY ($1::bigint[])
              AND archived_at IS NULL AND coalesce(snoozed_until <= now(), true)
        ) AS listed
        """,
        effect: .reads
    )

    private static let exits = Statement(
        """
        SELECT id, archived_at IS NOT NULL FROM inbox
        WHERE person = (SELECT signed_in_person()) AND id = ANY ($1::bigint[])
          AND (archived_at IS NOT NULL OR snoozed_until > now())
        """,
        effect: .reads
    )
}
