package import BellhopRules
package import Postgres

/// A signed-in user's queries and actions, with the user's own rights only.
///
/// The pool has the rights of `bellhop_api`. Each transaction states the signed-in user, and row-level security
/// restricts it to that user's rows. The statements name the user as well.
package struct UserStore: Sendable {
    private let pool: PostgresPool
    private var token = Token.none

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The user's proof of identity.
    enum Token: Hashable, Sendable {
        /// A proof that an erasure does not end, such as a link that proves its user.
        case none
        /// A token with its time of issue; `nil` if the token does not state it.
        case issued(Timestamp?)
    }

    /// Returns a copy for a token with this time of issue.
    ///
    /// Every call of it fails with ``SQLState/erasedReader`` if the user has been erased since.
    ///
    /// `nil` means that the token does not state its age, so that it may be older than any erasure.
    package func admitting(tokenIssuedAt time: Timestamp?) -> UserStore {
        var store = self
        store.token = .issued(time)
        return store
    }

    /// The token's time of issue, if it states one.
    var issuedAt: Timestamp? {
        guard case .issued(let time) = token else { return nil }
        return time
    }

    /// Throws an error if the user has been erased since the token was issued.
    package func admit(_ reader: UserKey) async throws(PostgresError) {
        _ = try await ask(reader, [])
    }

    /// Runs statements in one round trip and one transaction.
    func ask(
        _ reader: UserKey,
        _ questions: [(statement: Statement, parameters: [Parameter])]
    ) async throws(PostgresError) -> [Rows] {
        let batch = [(statement: Self.signIn, parameters: signIn(reader))] + questions
        let answers = try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.pipeline(batch)
        }
        return Array(answers.dropFirst())
    }

    /// Runs a body in a transaction with the user's rights.
    func act<Value: Sendable>(
        as reader: UserKey,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await pool.transaction { (connection) throws(PostgresError) in
            _ = try connection.run(Self.signIn, signIn(reader))
            return try body(connection)
        }
    }

    /// Returns app and user, the parameters `$1` and `$2` of most statements.
    static func who(_ reader: UserKey) -> [Parameter] {
        [.text(reader.app.text), .text(reader.user.text)]
    }

    private func signIn(_ reader: UserKey) -> [Parameter] {
        let subject: Parameter =
            token == .none ? .null : .bytes(IdentityHash.recipient(reader.app, reader.user).bytes)
        return Self.who(reader) + [subject, issuedAt.map { .instant($0.microseconds) } ?? .null]
    }

    private static let signIn = Statement("SELECT sign_in($1, $2, $3, $4)", effect: .reads)
}

extension SQLState {
    /// The error of `sign_in` for a token that was issued before its user was erased.
    package static let erasedReader = SQLState("BH401")
}

extension UserStore {
    /// Returns a page of the user's inbox, the newest first.
    ///
    /// A page reads at most ``reach`` rows, even if few of them match. It may then be short or empty although a next
    /// page exists.
    ///
    /// The number of unread notifications does not include the types in `uncounted`. With `readsLanguage`, the page has
    /// the user's language.
    package func page(
        _ query: InboxQuery,
        of reader: UserKey,
        uncounted: [EventType] = [],
        readsLanguage: Bool = false
    ) async throws(PostgresError) -> InboxPage {
        let isFirst = query.before == nil && query.state == .active
        var questions = [
            (statement: Self.lists[query.state] ?? Self.activeList, parameters: Self.parameters(query)),
            (statement: Self.unread, parameters: [.textArray(uncounted.map(\.text))]),
        ]
        if isFirst {
            questions.append((statement: Self.pinned, parameters: []))
            questions.append((statement: Self.settingsPrint, parameters: Self.who(reader)))
        }
        if readsLanguage { questions.append((statement: Self.settings, parameters: Self.who(reader))) }
        let answers = try await ask(reader, questions)
        let language = readsLanguage ? try answers.last.flatMap(UserSettings.init)?.locale : nil
        var items = try answers[0].compactMap(InboxItem.init)
        let hasMore = items.count > query.limit
        items = Array(items.prefix(query.limit))
        let next = hasMore ? items.last?.place : try await horizon(query, of: reader)
        if !hasMore, let next { items.removeAll { $0.place < next } }
        return InboxPage(
            items: items,
            pinned: isFirst ? try answers[2].compactMap(InboxItem.init) : [],
            unread: try answers[1].number(0, 0),
            next: next,
            settings: isFirst ? SettingsPrint(hash: try answers[3].integer(0, 0)) : nil,
            language: language
        )
    }

    /// Returns the number of unread notifications, at most 10,000, whether or not their pushes were suppressed.
    ///
    /// It does not include the types in `uncounted`.
    package func unreadCount(of reader: UserKey, uncounted: [EventType] = []) async throws(PostgresError) -> Int {
        try await ask(reader, [(Self.unread, [.textArray(uncounted.map(\.text))])])[0].number(0, 0)
    }

    /// The maximum number of rows that one page reads.
    package static let reach = 10_000

    /// Returns the end of a search that did not reach the end of the inbox; `nil` if it did.
    ///
    /// It is nine tenths of the search, since rows that arrive or leave between the two queries move its end.
    private func horizon(_ query: InboxQuery, of reader: UserKey) async throws(PostgresError) -> InboxPosition? {
        let place = Self.place(query.before ?? .beginning)
        let ends = try await ask(reader, (Self.horizons[query.state] ?? []).map { ($0, place) })
        let places = try ends.filter { !$0.isEmpty }.map { (rows) throws(PostgresError) in
            InboxPosition(listedAt: try rows.moment(0, 0), id: NotificationID(number: try rows.integer(0, 1)))
        }
        return places.max()
    }

    static func place(_ place: InboxPosition) -> [Parameter] {
        [.instant(place.listedAt.microseconds), .integer(place.id.number)]
    }

    private static func parameters(_ query: InboxQuery) -> [Parameter] {
        place(query.before ?? .beginning) + [
            .boolean(query.unreadOnly), query.types.map { .textArray($0.map(\.text)) } ?? .null,
            .integer(Int64(query.limit) + 1),
        ]
    }

    private static let lists: [InboxQuery.State: Statement] = [
        .active: activeList, .archived: archivedList, .snoozed: snoozedList,
    ]

    /// Selects the user's rows in the order of an index on `column`, after a place.
    private static func rows(by column: String, where condition: String = "true") -> String {
        """
        (SELECT *, \(column) AS listed_at FROM inbox
         WHERE person = (SELECT signed_in_person()) AND (\(column), id) < ($1, $2) AND \(condition)
         ORDER BY \(column) DESC, id DESC LIMIT \(reach)) AS looked_at
        """
    }

    /// Selects the matching rows.
    private static func chosen(_ rows: String, where condition: String) -> String {
        """
        (SELECT * FROM \(rows)
         WHERE \(condition) AND (NOT $3 OR read_at IS NULL) AND ($4::text[] IS NULL OR type = ANY ($4))
         ORDER BY listed_at DESC, id DESC LIMIT $5)
        """
    }

    static func list(_ parts: [String], of columns: String = InboxItem.columns) -> String {
        """
        SELECT \(columns) FROM (\(parts.joined(separator: " UNION ALL "))) AS listed
        ORDER BY listed_at DESC, id DESC LIMIT $5
        """
    }

    /// The parts of the active list.
    ///
    /// A notification whose snooze has ended is listed by that time.
    static let activeParts = [
        chosen(rows(by: "created_at"), where: "archived_at IS NULL AND snoozed_until IS NULL"),
        chosen(rows(by: "snoozed_until", where: "snoozed_until <= now()"), where: "archived_at IS NULL"),
    ]

    private static let activeList = Statement(list(activeParts), effect: .reads)

    private static let archivedList = Statement(
        list([chosen(rows(by: "created_at", where: "archived_at IS NOT NULL"), where: "true")]),
        effect: .reads
    )

    private static let snoozedList = Statement(
        list([chosen(rows(by: "snoozed_until", where: "snoozed_until > now()"), where: "archived_at IS NULL")]),
        effect: .reads
    )

    /// The ends of the searches in the parts of each list.
    private static let horizons: [InboxQuery.State: [Statement]] = [
        .active: [horizon(by: "created_at"), horizon(by: "snoozed_until", where: "snoozed_until <= now()")],
        .archived: [horizon(by: "created_at", where: "archived_at IS NOT NULL")],
        .snoozed: [horizon(by: "snoozed_until", where: "snoozed_until > now()")],
    ]

    private static func horizon(by column: String, where condition: String = "true") -> Statement {
        Statement(
            """
            SELECT \(column), id FROM inbox
            WHERE person = (SELECT signed_in_person()) AND (\(column), id) < ($1, $2) AND \(condition)
            ORDER BY \(column) DESC, id DESC OFFSET \(reach / 10 * 9 - 1) LIMIT 1
            """,
            effect: .reads
        )
    }

    private static let unread = Statement(countOfUnread("$1"), effect: .reads)

    /// Counts the unread notifications, except those of the types in a parameter.
    static func countOfUnread(_ uncounted: String) -> String {
        """
        SELECT count(*) FROM \(StoredNotification.unreadRows(of: "(SELECT signed_in_person())")) AS shown
        WHERE \(StoredNotification.isUnread) AND type <> ALL (\(uncounted)::text[])
        """
    }

    /// Selects at most ten of the newest thousand notifications: the unread ones of high priority.
    ///
    /// The index of unread rows contains few of high priority, usually none. Only if there is one, the place of the
    /// thousandth notification is read, from the index of the list. `OFFSET 0` and the range of the urgency keep the
    /// order, which only the index of unread rows provides.
    private static let pinned = Statement(
        """
        SELECT \(InboxItem.columns) FROM (
            SELECT *, created_at AS listed_at FROM inbox
            WHERE person = (SELECT signed_in_person()) AND urgency <= 0 AND read_at IS NULL AND archived_at IS NULL
            ORDER BY urgency OFFSET 0
        ) AS urgent
        WHERE \(StoredNotification.isUnread) AND ((created_at, id) < (
            SELECT created_at, id FROM inbox WHERE person = (SELECT signed_in_person())
            ORDER BY created_at DESC, id DESC OFFSET 999 LIMIT 1
        )) IS NOT TRUE
        ORDER BY listed_at DESC, id DESC LIMIT 10
        """,
        effect: .reads
    )
}
