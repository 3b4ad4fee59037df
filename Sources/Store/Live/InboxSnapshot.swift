package import BellhopRules
import Cryptography

/// A snapshot of the newest part of an inbox, without texts, from which changes can be detected.
package struct InboxSnapshot: Hashable, Sendable {
    /// One notification of the list.
    package struct Row: Hashable, Sendable {
        let place: InboxPosition
        package let isRead: Bool
        package let isSeen: Bool
        /// Whether its type counts in the number of unread notifications.
        let isCounted: Bool

        package init(place: InboxPosition, isRead: Bool, isSeen: Bool, isCounted: Bool = true) {
            self.place = place
            self.isRead = isRead
            self.isSeen = isSeen
            self.isCounted = isCounted
        }

        /// Whether the number of unread notifications includes it.
        var isInCount: Bool { isCounted && !isRead }

        package var id: NotificationID { place.id }
    }

    /// The newest rows first, at most ``reach``.
    package let rows: [Row]
    /// The number of unread notifications in the whole inbox whose types count.
    package let unread: Int
    /// When the next snooze ends; `nil` if no notification is snoozed.
    package let wakesAt: Timestamp?
    /// The time of the snapshot, by the database clock.
    package let takenAt: Timestamp
    /// The state of the user's settings and preferences, if it is known.
    package let settings: SettingsPrint?

    package init(rows: [Row], unread: Int, wakesAt: Timestamp?, takenAt: Timestamp, settings: SettingsPrint? = nil) {
        self.rows = rows
        self.unread = unread
        self.wakesAt = wakesAt
        self.takenAt = takenAt
        self.settings = settings
    }

    /// The maximum number of rows in a snapshot.
    package static let reach = 100

    /// Whether the list may continue below the snapshot.
    var isCut: Bool { rows.count >= Self.reach }

    /// Returns the snapshot as it was before these notifications arrived.
    package func before(_ later: some Sequence<NotificationID>) -> InboxSnapshot {
        let later = Set(later)
        let unreadLater = rows.count { $0.isInCount && later.contains($0.id) }
        return InboxSnapshot(
            rows: rows.filter { !later.contains($0.id) },
            unread: max(0, unread - unreadLater),
            wakesAt: wakesAt,
            takenAt: takenAt,
            settings: settings
        )
    }
}

/// The location of a notification that has left the list.
package enum RemovedReason: Hashable, Sendable {
    case archived, snoozed
}

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
            if row.isInCount { expected -= 1 }
        }
    }

    private mutating func compare(_ old: InboxSnapshot.Row, _ row: InboxSnapshot.Row) {
        if row.isRead != old.isRead {
            if row.isRead { read.append(row.id) } else { unread.append(row.id) }
            if row.isCounted { expected += row.isRead ? -1 : 1 }
        } else if row.isSeen, !old.isSeen {
            seen.append(row.id)
        }
    }

    /// Adds a row that was not in the earlier snapshot: it is new, has returned, or moved up into the snapshot.
    private mutating func meet(_ row: InboxSnapshot.Row) {
        if before.isCut, let end = before.rows.last?.place, row.place < end { return }
        if row.isInCount { expected += 1 }
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

/// A client's view of an inbox, in 32 bytes: its top place and a fingerprint of its newest notifications.
///
/// Notifications above that place are new. If the fingerprint of the following ones differs, something else has
/// changed, and the client must read the list again. Thus no change is missed and none is reported twice.
package struct InboxCursor: Hashable, Sendable {
    private let top: InboxPosition
    private let count: Int
    /// Whether there were no notifications below those in the fingerprint.
    ///
    /// Then none may appear there unnoticed.
    private let isWhole: Bool
    private let print: UInt64
    private let unread: Int
    /// The state of the user's settings, if the cursor contains it.
    package let settings: SettingsPrint?

    /// The maximum number of rows in the fingerprint.
    ///
    /// It ensures that they are still in a snapshot after the same number of new rows.
    private static let depth = InboxSnapshot.reach / 2

    package init(_ glimpse: InboxSnapshot) {
        self.init(glimpse.rows, isWhole: !glimpse.isCut, unread: glimpse.unread, settings: glimpse.settings)
    }

    /// Creates a cursor from the first page of the list, which may be the whole list.
    package init(_ items: [InboxItem], isWhole: Bool, unread: Int, settings: SettingsPrint? = nil) {
        let rows = items.map { InboxSnapshot.Row(place: $0.place, isRead: $0.isRead, isSeen: $0.isSeen) }
        self.init(rows, isWhole: isWhole, unread: unread, settings: settings)
    }

    private init(_ all: [InboxSnapshot.Row], isWhole: Bool, unread: Int, settings: SettingsPrint?) {
        let rows = all.prefix(Self.depth)
        self.isWhole = isWhole && rows.count == all.count
        top = rows.first?.place ?? .end
        count = rows.count
        print = Self.print(rows)
        self.unread = unread
        self.settings = settings
    }

    /// The difference between a cursor and the inbox.
    package enum Gap: Hashable, Sendable {
        case nothing
        /// Only the number of unread notifications differs.
        case badge
        /// These notifications are new, the oldest first.
        case arrived([NotificationID])
        /// More has changed than can be reported individually.
        case unclear
    }

    package func gap(to glimpse: InboxSnapshot) -> Gap {
        let newer = glimpse.rows.prefix { top < $0.place }
        let known = glimpse.rows.dropFirst(newer.count).prefix(count)
        guard known.count == count, Self.print(known) == print else { return .unclear }
        guard newer.count <= Self.depth, !isWhole || glimpse.rows.count == newer.count + count else { return .unclear }
        if !newer.isEmpty { return .arrived(newer.reversed().map(\.id)) }
        return unread == glimpse.unread ? .nothing : .badge
    }

    /// Computes the fingerprint of places and marks.
    ///
    /// It detects accidental differences only: a user who forges a cursor affects only that user.
    private static func print(_ rows: some Sequence<InboxSnapshot.Row>) -> UInt64 {
        var hash = StableHash()
        for row in rows {
            let marks: UInt64 = (row.isRead ? 1 : 0) | (row.isSeen ? 2 : 0)
            for word in [UInt64(bitPattern: row.place.listedAt.microseconds), row.id.bits, marks] {
                withUnsafeBytes(of: word.littleEndian) { hash.add($0) }
            }
        }
        return hash.value
    }
}

extension InboxCursor {
    /// The highest bit, above the fingerprint of the settings.
    private static let wholeMark: UInt64 = 1 << 63
    /// The lowest bit of the settings' fingerprint, above the count.
    private static let settingsShift: UInt64 = 39
    private static let countMask: UInt64 = 0x7F

    /// The cursor as opaque text for clients.
    package var text: String {
        let words = [UInt64(bitPattern: top.listedAt.microseconds), top.id.bits, print]
        let settings = (settings?.bits ?? 0) << Self.settingsShift
        let counts =
            (isWhole ? Self.wholeMark : 0) | settings | UInt64(count) << 32 | UInt64(UInt32(clamping: unread))
        return Base64URL.encode(
            (words + [counts]).flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
        )
    }

    /// Parses ``text``; `nil` for any other text.
    package init?(_ text: String) {
        guard text.utf8.count == 43, let bytes = Base64URL.decode(text), bytes.count == 32 else { return nil }
        let words = stride(from: 0, to: 32, by: 8).map { start in
            bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let covered = words[3] >> 32 & Self.countMask
        guard let listedAt = Timestamp(microseconds: Int64(bitPattern: words[0])), covered <= Self.depth else {
            return nil
        }
        top = InboxPosition(listedAt: listedAt, id: NotificationID(bits: words[1]))
        print = words[2]
        count = Int(covered)
        isWhole = words[3] & Self.wholeMark != 0
        unread = Int(words[3] & 0xFFFF_FFFF)
        settings = SettingsPrint(bits: (words[3] & ~Self.wholeMark) >> Self.settingsShift)
    }
}
