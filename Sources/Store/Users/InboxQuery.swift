package import BellhopRules
import Cryptography

/// A query for a part of an inbox.
package struct InboxQuery: Hashable, Sendable {
    /// The lists of an inbox.
    package enum State: String, CaseIterable, Hashable, Sendable {
        /// The main list: neither archived nor snoozed.
        case active
        /// The archived notifications.
        case archived
        /// The notifications with a snooze that ends in the future.
        case snoozed
    }

    /// The maximum number of notifications.
    package var limit: Int
    /// The place after which the page begins; `nil` for the first page.
    package var before: InboxPosition?
    package var unreadOnly: Bool
    /// The accepted types; `nil` for all.
    package var types: [EventType]?
    package var state: State

    package init(
        limit: Int = 20,
        before: InboxPosition? = nil,
        unreadOnly: Bool = false,
        types: [EventType]? = nil,
        state: State = .active
    ) {
        self.limit = limit
        self.before = before
        self.unreadOnly = unreadOnly
        self.types = types
        self.state = state
    }
}

/// A place in an inbox: the time by which a notification is listed, and its id for equal times.
///
/// A place does not move when new notifications arrive, so that no page repeats or omits any.
package struct InboxPosition: Hashable, Sendable, Comparable {
    let listedAt: Timestamp
    let id: NotificationID

    init(listedAt: Timestamp, id: NotificationID) {
        self.listedAt = listedAt
        self.id = id
    }

    /// Parses ``text``; `nil` for any other text.
    package init?(_ text: String) {
        guard text.utf8.count == 22, let bytes = Base64URL.decode(text), bytes.count == 16 else { return nil }
        let halves = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        guard let micros = Int64(exactly: halves[0]), let listedAt = Timestamp(microseconds: micros) else { return nil }
        self.init(listedAt: listedAt, id: NotificationID(bits: halves[1]))
    }

    /// The place as opaque text for clients.
    package var text: String {
        let halves = [UInt64(bitPattern: listedAt.microseconds), id.bits]
        return Base64URL.encode(halves.flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } })
    }

    /// Compares in the order of the tables, in which an id is a signed number.
    package static func < (one: InboxPosition, other: InboxPosition) -> Bool {
        (one.listedAt, one.id.number) < (other.listedAt, other.id.number)
    }

    /// The place before all notifications.
    static let beginning = InboxPosition(listedAt: Timestamp(clamping: .max), id: NotificationID(number: .max))
    /// The place after all notifications.
    static let end = InboxPosition(listedAt: Timestamp(clamping: .min), id: NotificationID(number: .min))
}
