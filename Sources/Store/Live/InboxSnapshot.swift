package import BellhopRules

/// A snapshot of the newest part of an inbox, without texts, from which changes can be detected.
package struct InboxSnapshot: Hashable, Sendable {
    /// One notification of the list.
    package struct Row: Hashable, Sendable {
        let place: InboxPosition
        package let isRead: Bool
        package let isSeen: Bool

        package init(place: InboxPosition, isRead: Bool, isSeen: Bool) {
            self.place = place
            self.isRead = isRead
            self.isSeen = isSeen
        }

        package var id: NotificationID { place.id }
    }

    /// The newest rows first, at most ``reach``.
    package let rows: [Row]
    /// The number of unread notifications in the whole inbox.
    package let unread: Int
    /// When the next snooze ends; `nil` if no notification is snoozed.
    package let wakesAt: Timestamp?
    /// The time of the snapshot, by the database clock.
    package let takenAt: Timestamp

    package init(rows: [Row], unread: Int, wakesAt: Timestamp?, takenAt: Timestamp) {
        self.rows = rows
        self.unread = unread
        self.wakesAt = wakesAt
        self.takenAt = takenAt
    }

    /// The maximum number of rows in a snapshot.
    package static let reach = 100

    /// Whether the list may continue below the snapshot.
    var isCut: Bool { rows.count >= Self.reach }

    /// Returns the snapshot as it was before these notifications arrived.
    package func before(_ later: some Sequence<NotificationID>) -> InboxSnapshot {
        let later = Set(later)
        let unreadLater = rows.count { !$0.isRead && later.contains($0.id) }
        return InboxSnapshot(
            rows: rows.filter { !later.contains($0.id) },
            unread: max(0, unread - unreadLater),
            wakesAt: wakesAt,
            takenAt: takenAt
        )
    }
}

/// The location of a notification that has left the list.
package enum RemovedReason: Hashable, Sendable {
    case archived, snoozed
}
