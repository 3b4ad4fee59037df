package import BellhopRules

/// What has happened to an inbox between two glimpses of it.
package struct InboxDifference: Hashable, Sendable {
    /// They have come, or woken, the oldest first.
    package private(set) var arrived: [NotificationID] = []
    /// They are back in the list, where they stood before.
    package private(set) var returned: [NotificationID] = []
    /// They are in the list no more; whoever knows where they are says so by ``InboxExit``.
    package private(set) var gone: [NotificationID] = []
    package private(set) var read: [NotificationID] = []
    package private(set) var unread: [NotificationID] = []
    /// They were seen, and not read.
    package private(set) var seen: [NotificationID] = []
    /// What the number of those unread would be if nothing had happened below what is seen here.
    private var expected = 0
    private let before: InboxGlimpse
    private let after: InboxGlimpse

    package init(from before: InboxGlimpse, to after: InboxGlimpse) {
        self.before = before
        self.after = after
        expected = before.unread
        let known = Dictionary(before.rows.map { ($0.place, $0) }) { first, _ in first }
        for row in after.rows.reversed() {
            if let old = known[row.place] { compare(old, row) } else { meet(row) }
        }
        let left = Set(after.rows.map(\.id))
        // Below the end of a glimpse that is cut stands what newer ones have pushed out of it.
        let end = after.isCut ? after.rows.last?.place ?? .end : .end
        for row in before.rows where !left.contains(row.id) && end < row.place {
            gone.append(row.id)
            if !row.isRead { expected -= 1 }
        }
    }

    private mutating func compare(_ old: InboxGlimpse.Row, _ row: InboxGlimpse.Row) {
        if row.isRead != old.isRead {
            if row.isRead { read.append(row.id) } else { unread.append(row.id) }
            expected += row.isRead ? -1 : 1
        } else if row.isSeen, !old.isSeen {
            seen.append(row.id)
        }
    }

    /// One that was not there before: it has come, or come back, or others have made room for it.
    private mutating func meet(_ row: InboxGlimpse.Row) {
        if before.isCut, let end = before.rows.last?.place, row.place < end { return }
        if !row.isRead { expected += 1 }
        let isLate = row.place.listedAt.microseconds < before.takenAt.microseconds - Self.longestWrite
        guard isLate else {
            arrived.append(row.id)
            return
        }
        returned.append(row.id)
    }

    /// Microseconds that pass at most between the time of a notification and the moment at which it can be seen.
    private static let longestWrite: Int64 = 60_000_000

    package var isEmpty: Bool {
        hasNoMarks && arrived.isEmpty && before.unread == after.unread
    }

    /// Whether nothing has happened to what was there before.
    package var hasNoMarks: Bool {
        returned.isEmpty && gone.isEmpty && read.isEmpty && unread.isEmpty && seen.isEmpty
    }

    /// Whether something was read that no glimpse shows.
    ///
    /// Beyond ten thousand unread each that comes pushes one out of the count.
    package var reachesDeeper: Bool { after.unread < expected - arrived.count }
}
