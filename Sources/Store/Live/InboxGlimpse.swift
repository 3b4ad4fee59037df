package import BellhopRules

/// The top of an inbox at one moment, without its words: enough to tell what has changed since another.
package struct InboxGlimpse: Hashable, Sendable {
    /// One notification of the list.
    package struct Row: Hashable, Sendable {
        let place: InboxPlace
        package let isRead: Bool
        package let isSeen: Bool

        package init(place: InboxPlace, isRead: Bool, isSeen: Bool) {
            self.place = place
            self.isRead = isRead
            self.isSeen = isSeen
        }

        package var id: NotificationID { place.id }
    }

    /// The newest first, at most ``reach``.
    package let rows: [Row]
    /// Of the whole inbox.
    package let unread: Int
    /// When the next that sleeps wakes; nil where none does.
    package let wakesAt: Timestamp?
    /// By the database's clock.
    package let takenAt: Timestamp

    package init(rows: [Row], unread: Int, wakesAt: Timestamp?, takenAt: Timestamp) {
        self.rows = rows
        self.unread = unread
        self.wakesAt = wakesAt
        self.takenAt = takenAt
    }

    /// Notifications that a glimpse shows.
    package static let reach = 100

    /// Whether the list goes on below it.
    var isCut: Bool { rows.count >= Self.reach }

    /// The same before these had come.
    package func before(_ later: some Sequence<NotificationID>) -> InboxGlimpse {
        let later = Set(later)
        let unreadLater = rows.count { !$0.isRead && later.contains($0.id) }
        return InboxGlimpse(
            rows: rows.filter { !later.contains($0.id) },
            unread: max(0, unread - unreadLater),
            wakesAt: wakesAt,
            takenAt: takenAt
        )
    }
}

/// Where a notification has gone that is not in the list any more.
package enum InboxExit: Hashable, Sendable {
    case archived, snoozed
}
