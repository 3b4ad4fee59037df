package import BellhopRules
import Postgres

/// Selects dead letters.
///
/// Every command accepts the same filter, with the same meaning.
///
/// All conditions must hold. Without conditions, every open item matches.
package struct DeadLetterFilter: Sendable, Equatable {
    package var app: String?
    package var type: String?
    package var reason: String?
    package var stage: String?
    package var provider: String?
    package var fingerprint: String?
    /// Items for this user alone.
    package var user: String?
    /// Items that name this user, alone or with other users.
    ///
    /// Only for reading: an act on such an item affects the other users, too.
    package var naming: UserKey?
    package var event: String?
    /// A text within the error, the event id or the routing key, ignoring case.
    package var text: String?
    /// Items whose last change is the action with this audit number.
    package var act: Int64?
    /// Items whose last failure is at this instant or later.
    package var since: Timestamp?
    /// Items whose last failure is before this instant.
    package var until: Timestamp?
    /// The ids of individual items; empty for no such condition.
    package var ids: [String] = []
    /// The accepted states; an action restricts them to the states to which it applies.
    package var states: Set<DeadLetterState> = [.open]
    /// The maximum number of items, the latest failures first.
    package var limit: Int?
    /// Items stored by this instant: items stored after a question was asked are not part of its answer.
    package var filedBy: Timestamp?
    /// Only items that a replay may take.
    var replayable: ReplayLimits?

    package init() {}

    /// Returns the same filter with a single state.
    package func with(state: DeadLetterState) -> DeadLetterFilter {
        var other = self
        other.states = [state]
        return other
    }

    /// Whether the filter has any condition other than the states and the limit, neither of which identifies items.
    package var isNarrow: Bool {
        let texts = [app, type, reason, stage, provider, fingerprint, user, event, text]
        return texts.contains { $0 != nil } || since != nil || until != nil || !ids.isEmpty || act != nil
    }

    /// The given conditions, as stored in the audit.
    package var json: JSONObject {
        var object = JSONObject()
        let texts = [
            ("app", app), ("type", type), ("reason", reason), ("stage", stage), ("provider", provider),
            ("fingerprint", fingerprint), ("user", user), ("event", event), ("text", text),
            ("since", since?.description), ("until", until?.description),
        ]
        for (name, text) in texts { object[name] = text.map(JSONValue.string) }
        if !ids.isEmpty {
            object["items"] = .array(ids.prefix(Self.idsKept).map(JSONValue.string))
            if ids.count > Self.idsKept { object["itemCount"] = .number(JSONNumber(Int64(ids.count))) }
        }
        if states != [.open] { object["states"] = .array(states.map(\.rawValue).sorted().map(JSONValue.string)) }
        object["act"] = act.map { .number(JSONNumber($0)) }
        object["limit"] = limit.map { .number(JSONNumber(Int64($0))) }
        return object
    }

    /// The number of ids stored in the audit.
    ///
    /// A longer list is no more useful than its count.
    private static let idsKept = 20
}

/// Limits the items that a replay may take.
package struct ReplayLimits: Sendable, Equatable {
    /// The maximum number of earlier replays of an item.
    ///
    /// An item that failed more often needs more than another attempt.
    package var perItem: Int
    /// The earliest first failure.
    ///
    /// For older items, the ids that detect duplicates may have been deleted.
    package var failedSince: Timestamp

    package init(perItem: Int, failedSince: Timestamp) {
        self.perItem = perItem
        self.failedSince = failedSince
    }

    package static let usualPerItem = 5
}

/// The state of an item.
package enum DeadLetterState: String, CaseIterable, Sendable {
    /// Waits for an operator.
    case open
    /// Part of a replay.
    case replaying
    /// Resolved by a replay or by its edited copy. Another failure opens it again.
    case resolved
    /// Discarded by an operator, who can restore it.
    case discarded

    /// All states, for an SQL list.
    static let list = allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

/// The order of a list of items.
package enum DeadLetterOrder: String, CaseIterable, Sendable {
    /// The latest failure first.
    case newest
    /// The longest wait first.
    case oldest
    /// The most deaths first.
    case deaths

    /// The `ORDER BY` expressions for `dead_letters d`.
    var sql: String {
        switch self {
        case .newest: "d.last_failed_at DESC, d.dead_id DESC"
        case .oldest: "d.first_failed_at, d.dead_id"
        case .deaths: "d.deaths DESC, d.last_failed_at DESC, d.dead_id DESC"
        }
    }
}

extension DeadLetterFilter {
    /// Returns whether an item in the broker's queue matches: the same conditions as in SQL, for use without the table.
    ///
    /// All items in the queue are open, ids match by prefix, and the caller applies the limit.
    package func matches(_ item: DeadLetterItem) -> Bool {
        let pairs = [
            (app, item.cause.app), (type, item.cause.eventType), (reason, item.cause.reason),
            (stage, item.cause.stage.rawValue),
            (provider, item.cause.provider), (fingerprint, item.fingerprint), (user, item.cause.user),
            (event, item.cause.eventID),
        ]
        for (wanted, found) in pairs {
            if let wanted, wanted != found { return false }
        }
        if let text {
            let places = [item.cause.error, item.cause.eventID ?? "", item.origin.routingKey].map { $0.lowercased() }
            guard places.contains(where: { $0.contains(text.lowercased()) }) else { return false }
        }
        if let since, item.failedAt < since { return false }
        if let until, item.failedAt >= until { return false }
        return ids.isEmpty || ids.contains { item.deadID.hasPrefix($0) }
    }
}

/// A piece of SQL and the values of its parameters, which are numbered from 1.
struct SQLPiece {
    var sql: String
    var parameters: [Parameter]

    /// Adds a value and returns its placeholder.
    mutating func bind(_ parameter: Parameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }
}

extension DeadLetterFilter {
    /// The condition on `dead_letters d`, without the limit.
    ///
    /// The text contains only the given conditions, so that each combination is planned with a suitable index.
    var condition: SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [])
        var terms = [stateTerm]
        let columns = [
            ("app", app), ("event_type", type), ("reason", reason), ("stage", stage), ("provider", provider),
            ("fingerprint", fingerprint), ("user_id", user), ("event_id", event),
        ]
        for (column, value) in columns {
            guard let value else { continue }
            terms.append("d.\(column) = \(piece.bind(.text(value)))")
        }
        if let naming {
            let (user, app) = (piece.bind(.text(naming.user.text)), piece.bind(.text(naming.app.text)))
            let hash = piece.bind(.bytes(IdentityHash.recipient(naming.app, naming.user).bytes))
            terms.append(
                "(d.user_id = \(user) AND d.app = \(app) OR d.people @> ARRAY[encode(\(hash), 'hex') COLLATE \"C\"])"
            )
        }
        if let text {
            let wanted = piece.bind(.text(text))
            let places = ["d.error", "coalesce(d.event_id, '')", "d.origin_routing_key"]
            terms.append(
                "(" + places.map { "strpos(lower(\($0)), lower(\(wanted))) > 0" }.joined(separator: " OR ") + ")"
            )
        }
        if let act { terms.append(Self.changed(by: piece.bind(.integer(act)))) }
        if let since { terms.append("d.last_failed_at >= \(piece.bind(.instant(since.microseconds)))") }
        if let until { terms.append("d.last_failed_at < \(piece.bind(.instant(until.microseconds)))") }
        if let filedBy { terms.append("d.filed_at <= \(piece.bind(.instant(filedBy.microseconds)))") }
        if let replayable {
            terms.append("d.replays < \(piece.bind(.integer(Int64(replayable.perItem))))")
            terms.append("d.first_failed_at >= \(piece.bind(.instant(replayable.failedSince.microseconds)))")
            terms.append("NOT \(TruncatedBody.condition)")
        }
        if !ids.isEmpty { terms.append("d.dead_id = ANY(\(piece.bind(.textArray(ids)))::text[])") }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }

    /// Selects columns of the matching items, up to the limit.
    ///
    /// Unless another order is given, the latest failures come first.
    func selection(
        of columns: String,
        atMost page: Int? = nil,
        in order: DeadLetterOrder = .newest
    ) -> SQLPiece {
        var piece = condition
        piece.sql = "SELECT \(columns) FROM dead_letters d WHERE \(piece.sql)"
        guard let most = [limit, page].compactMap({ $0 }).min() else { return piece }
        piece.sql += " ORDER BY \(order.sql) LIMIT \(piece.bind(.integer(Int64(most))))"
        return piece
    }

    /// Selects like `selection` and locks each row until the transaction ends.
    ///
    /// Without a limit, it locks in the order of all other statements.
    func lockedSelection(of columns: String) -> SQLPiece {
        var piece = selection(of: columns)
        piece.sql += limit == nil ? " ORDER BY d.dead_id FOR UPDATE OF d" : " FOR UPDATE OF d"
        return piece
    }

    /// The condition that an action's change is still in effect: the item was not discarded, restored or dead-lettered
    /// again since.
    private static func changed(by act: String) -> String {
        """
        EXISTS (SELECT FROM dead_letter_history h WHERE h.dead_id = d.dead_id AND h.act = \(act)
                AND NOT EXISTS (SELECT FROM dead_letter_history l WHERE l.dead_id = h.dead_id AND l.number > h.number
                                AND l.kind IN ('discarded', 'restored', 'died')))
        """
    }

    /// The state names are constants of the program and therefore safe in the text.
    private var stateTerm: String {
        "d.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"
    }
}
