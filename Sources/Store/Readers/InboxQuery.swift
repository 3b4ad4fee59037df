package import BellhopRules
import Cryptography

/// Which part of an inbox is asked for.
package struct InboxQuery: Hashable, Sendable {
    /// What is listed together.
    package enum State: String, CaseIterable, Hashable, Sendable {
        /// The list itself: neither put away nor asleep.
        case active
        /// What was put away.
        case archived
        /// What sleeps until a time that is still to come.
        case snoozed
    }

    /// Notifications at most.
    package var limit: Int
    /// Only what stands behind this place; nil from the beginning.
    package var before: InboxPlace?
    package var unreadOnly: Bool
    /// Of these types alone; nil for all.
    package var types: [EventType]?
    package var state: State

    package init(
        limit: Int = 20,
        before: InboxPlace? = nil,
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

/// A place in an inbox: the time by which a notification is listed, and its id where several have the same.
///
/// It stays where it is while new ones arrive, so that no page repeats or leaves out any.
package struct InboxPlace: Hashable, Sendable, Comparable {
    let listedAt: Timestamp
    let id: NotificationID

    init(listedAt: Timestamp, id: NotificationID) {
        self.listedAt = listedAt
        self.id = id
    }

    /// Reads what ``text`` wrote; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count == 22, let bytes = Base64URL.decode(text), bytes.count == 16 else { return nil }
        let halves = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        guard let micros = Int64(exactly: halves[0]), let listedAt = Timestamp(microseconds: micros) else { return nil }
        self.init(listedAt: listedAt, id: NotificationID(bits: halves[1]))
    }

    /// What clients hand back without understanding it.
    package var text: String {
        let halves = [UInt64(bitPattern: listedAt.microseconds), id.bits]
        return Base64URL.encode(halves.flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } })
    }

    /// The order of the tables, in which an id is a signed number.
    package static func < (one: InboxPlace, other: InboxPlace) -> Bool {
        (one.listedAt, one.id.number) < (other.listedAt, other.id.number)
    }

    /// Before everything.
    static let beginning = InboxPlace(listedAt: Timestamp(clamping: .max), id: NotificationID(number: .max))
    /// Behind everything.
    static let end = InboxPlace(listedAt: Timestamp(clamping: .min), id: NotificationID(number: .min))
}
