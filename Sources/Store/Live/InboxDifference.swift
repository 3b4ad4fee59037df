package import BellhopRules

/// The changes of an inbox between two snapshots.
package struct InboxDifference: Hashable, Sendable {
    /// New notifications, and those whose snooze has ended, the oldest first.
    package private(set) var arrived: [NotificationID] = []
    /// Notifications that are in the list again, at their former places.
    package private(set) var returned: [NotificationID] = []
    /// Notifications that have left the list; ``RemovedReason`` describes their new location.
    package private(set) var gone: [NotificationID] = []
    package private(set) var read: [NotificationID] = []
    package private(set) var unread: [NotificationID] = []
    /// Notifications that were seen and not read.
    package private(set) var seen: [NotificationID] = []
    /// The expected number of unread notifications if nothing below the snapshot has changed.
    private var expected = 0
    private let before: InboxSnapshot
    private let after: InboxSnapshot

    package init(from before: InboxSnapshot, to after: InboxSnapshot) {
        self.before = before
        self.after = after
        expected = before.unread
        let known = Dictionary(before.rows.map { ($0.place, $0) }) { first, _ in first }
        for row in after.rows.reversed() {
            if let old = known[row.place] { compare(old, row) } else { meet(row) }
        }
        let left = Set(after.rows.map(\.id))
        // Rows below the end of a cut snapshot were pushed out by newer ones.
        let end = after.isCut ? after.rows.last?.place ?? .end : .end
        for row in before.rows where !left.contains(row.id) && end < row.place {
            gone.append(row.id)
            if !row.isRead { expected -= 1 }
        }
    }

    private mutating func compare(_ old: InboxSnapshot.Row, _ row: InboxSnapshot.Row) {
        if row.isRead != old.isRead {
            if row.isRead { read.append(row.id) } else { unread.append(row.id) }
            expected += row.isRead ? -1 : 1
        } else if row.isSeen, !old.isSeen {
            seen.append(row.id)
        }
    }

    /// Adds a row that was not in the earlier snapshot: it is new, has returned, or moved up into the snapshot.
    private mutating func meet(_ row: InboxSnapshot.Row) {
        if before.isCut, let end = before.rows.last?.place, row.place < end { return }
        if !row.isRead { expected += 1 }
        let isLate = row.place.listedAt.microseconds < before.takenAt.microseconds - Self.longestWrite
        guard isLate else {
            arrived.append(row.id)
            return
        }
        returned.append(row.id)
    }

    /// The maximum time in microseconds between a notification's timestamp and its visibility.
    private static let longestWrite: Int64 = 60_000_000

    package var isEmpty: Bool {
        hasNoMarks && arrived.isEmpty && before.unread == after.unread
    }

    /// Whether no earlier notification has changed.
    package var hasNoMarks: Bool {
        returned.isEmpty && gone.isEmpty && read.isEmpty && unread.isEmpty && seen.isEmpty
    }

    /// Whether a notification below the snapshot was read.
    ///
    /// Above 10,000 unread notifications, each new one displaces another from the count.
    package var reachesDeeper: Bool { after.unread < expected - arrived.count }
}
