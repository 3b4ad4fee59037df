package import BellhopRules
import Cryptography

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

    /// The maximum number of rows in the fingerprint.
    ///
    /// It ensures that they are still in a snapshot after the same number of new rows.
    private static let depth = InboxSnapshot.reach / 2

    package init(_ glimpse: InboxSnapshot) {
        self.init(glimpse.rows, isWhole: !glimpse.isCut, unread: glimpse.unread)
    }

    /// Creates a cursor from the first page of the list, which may be the whole list.
    package init(_ items: [InboxItem], isWhole: Bool, unread: Int) {
        let rows = items.map { InboxSnapshot.Row(place: $0.place, isRead: $0.isRead, isSeen: $0.isSeen) }
        self.init(rows, isWhole: isWhole, unread: unread)
    }

    private init(_ all: [InboxSnapshot.Row], isWhole: Bool, unread: Int) {
        let rows = all.prefix(Self.depth)
        self.isWhole = isWhole && rows.count == all.count
        top = rows.first?.place ?? .end
        count = rows.count
        print = Self.print(rows)
        self.unread = unread
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
    /// The highest bit, above the count.
    private static let wholeMark: UInt64 = 1 << 63

    /// The cursor as opaque text for clients.
    package var text: String {
        let words = [UInt64(bitPattern: top.listedAt.microseconds), top.id.bits, print]
        let counts = (isWhole ? Self.wholeMark : 0) | UInt64(count) << 32 | UInt64(UInt32(clamping: unread))
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
        let covered = (words[3] & ~Self.wholeMark) >> 32
        guard let listedAt = Timestamp(microseconds: Int64(bitPattern: words[0])), covered <= Self.depth else {
            return nil
        }
        top = InboxPosition(listedAt: listedAt, id: NotificationID(bits: words[1]))
        print = words[2]
        count = Int(covered)
        isWhole = words[3] & Self.wholeMark != 0
        unread = Int(words[3] & 0xFFFF_FFFF)
    }
}
