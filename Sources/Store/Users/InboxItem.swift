package import BellhopRules
import Cryptography
package import Postgres

/// A notification as shown to its user.
package struct InboxItem: Sendable {
    package let place: InboxPosition
    package let type: EventType
    package let title: String
    package let body: String
    package let priority: Priority
    package let createdAt: Timestamp
    package let isRead: Bool
    package let isSeen: Bool
    package let isArchived: Bool
    /// The end of the snooze; `nil` if the notification is not snoozed.
    package let snoozedUntil: Timestamp?
    package let venueID: String?
    /// The destination of a tap.
    package let link: DeepLink?
    /// The event's data, which is only passed on.
    package let data: CanonicalObject
    /// The fields that pushes carry as well.
    package let targetID: String?
    package let metadata: CanonicalObject
    package let imageURL: String?
    package let expiresAt: Timestamp?

    package var id: NotificationID { place.id }

    /// The columns that ``init(_:_:)`` reads: a row of the inbox and the time by which it is listed.
    static let columns = """
        listed_at, id, type, title, body, urgency::bigint, created_at, read_at IS NOT NULL, seen_at IS NOT NULL,
        archived_at IS NOT NULL, CASE WHEN snoozed_until > now() THEN snoozed_until END, venue_id, link_web, link_mobile,
        link_scheme, data, target_id, metadata, extras
        """

    /// Creates an item from a row; `nil` if no Bellhop process can have written the row.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let type = EventType(validating: try rows.text(row, 2)) else { return nil }
        self.type = type
        place = InboxPosition(
            listedAt: try rows.moment(row, 0),
            id: NotificationID(number: try rows.integer(row, 1))
        )
        title = try rows.text(row, 3)
        body = try rows.text(row, 4)
        priority = Priority(urgency: try rows.integer(row, 5))
        createdAt = try rows.moment(row, 6)
        isRead = try rows.boolean(row, 7)
        isSeen = try rows.boolean(row, 8)
        isArchived = try rows.boolean(row, 9)
        snoozedUntil = try rows.timestamp(row, 10)
        venueID = try rows.optionalText(row, 11)
        link = try DeepLink(rows, row, at: 12)
        data = try rows.canonicalObject(row, 15) ?? .empty
        targetID = try rows.optionalText(row, 16)
        metadata = try rows.canonicalObject(row, 17) ?? .empty
        let extras = try NotificationExtras(rows, row, 18)
        (imageURL, expiresAt) = (extras.imageURL, extras.expiresAt)
    }
}

/// A page of an inbox.
package struct InboxPage: Sendable {
    package let items: [InboxItem]
    /// The unread notifications of high priority, on a first page.
    package let pinned: [InboxItem]
    package let unread: Int
    /// The place at which the next page begins; `nil` at the end.
    package let next: InboxPosition?
    /// The state of the user's settings, on a first page.
    package let settings: SettingsPrint?
    /// The user's language, if the query asked for it.
    package let language: LanguageTag?
}

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

/// A user's action on notifications.
package enum InboxAction: Hashable, Sendable {
    /// The user has seen them.
    case seen
    /// Marks them as read, and also as seen.
    case read
    case unread
    case archived
    /// Moves them back to the list, which also ends a snooze.
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
        case .unarchived:
            (
                "archived_at = NULL, snoozed_until = CASE WHEN snoozed_until <= now() THEN snoozed_until END",
                "archived_at IS NULL AND coalesce(snoozed_until <= now(), true)"
            )
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
