import BellhopJSON
import BellhopRules
import Store

/// One event of a stream, in its wire format.
struct LiveEvent: Sendable {
    /// The kinds of events, with their names on the wire.
    enum Kind: String, CaseIterable {
        /// A notification has arrived, or its snooze has ended.
        case notification
        case read
        /// Notifications of the list have changed their state in another way.
        case state
        /// The number of unread notifications.
        case badge
        /// The client must reload the list.
        case resync
        /// The user's settings or preferences have changed.
        case settings
    }

    let kind: Kind
    /// The bytes on the wire.
    ///
    /// Server-sent events end with an empty line. The JSON contains no line breaks.
    let bytes: [UInt8]

    /// Creates an event.
    ///
    /// `known` is the client's state after it.
    init(_ kind: Kind, _ data: JSONObject, known: InboxSnapshot) {
        self.init(kind, json: data.canonicalBytes, known: known)
    }

    /// Creates an event whose data is already written.
    init(_ kind: Kind, json: [UInt8], known: InboxSnapshot) {
        let id = InboxCursor(known).text
        var text = Array("id: \(id)\nevent: \(kind.rawValue)\ndata: ".utf8)
        text += json + Array("\n\n".utf8)
        // A slow client may have a few dozen events waiting.
        let isFit = text.count <= Self.mostBytes
        self.kind = isFit ? kind : .resync
        bytes = isFit ? text : Array("id: \(id)\nevent: \(Kind.resync.rawValue)\ndata: {}\n\n".utf8)
    }

    private static let mostBytes = 16 * 1_024

    /// The size limit for all events of one update.
    ///
    /// A few dozen such updates may wait for a client.
    static let mostTogether = 256 * 1_024

    /// A line that clients ignore.
    ///
    /// It shows both ends and the proxies between them that the stream is alive.
    static let heartbeat = Array(":\n\n".utf8)

    /// Returns the delay until a client reconnects after the stream's end: 1 to 5 seconds, so that clients do not all
    /// return at the same time.
    static func opening(chance: Double) -> [UInt8] {
        Array("retry: \(1_000 + Int(4_000 * min(max(chance, 0), 1)))\n\n".utf8)
    }
}

extension [LiveEvent] {
    /// The concatenated bytes of the events.
    var bytes: [UInt8] { flatMap(\.bytes) }
}

/// Converts the changes of an inbox into events.
struct LiveEventBuilder {
    let after: InboxSnapshot
    /// The content of notifications that have arrived.
    let items: [NotificationID: InboxItem]
    let exits: [NotificationID: RemovedReason]
    let catalog: Catalog
    /// The user's language, if the buttons of notifications need it.
    let language: LanguageTag?

    /// Returns the events for clients that have the previous state.
    ///
    /// The list is empty if nothing has changed.
    func events(of difference: InboxDifference, since before: InboxSnapshot) -> [LiveEvent] {
        inboxEvents(of: difference, since: before) + settings(since: before.settings)
    }

    private func settings(since before: SettingsPrint?) -> [LiveEvent] {
        before == nil || before == after.settings ? [] : [LiveEvent(.settings, [:], known: after)]
    }

    private func inboxEvents(of difference: InboxDifference, since before: InboxSnapshot) -> [LiveEvent] {
        if difference.isEmpty { return [] }
        guard !isUnclear(difference) else { return [resync] }
        let base = after.before(difference.arrived)
        let marks = marks(of: difference, unread: base.unread)
        // Events that a client receives again after an interruption change nothing. All but the last therefore keep the
        // client's earlier position.
        let told = marks.enumerated().map { place, mark in
            LiveEvent(mark.kind, mark.data, known: place == marks.count - 1 ? base : before)
        }
        return bounded(told + arrivals(difference.arrived))
    }

    /// Returns the events for a client that connects with or without a cursor.
    func events(since cursor: InboxCursor?) -> [LiveEvent] {
        guard let cursor else { return [badge] }
        return inboxEvents(since: cursor) + settings(since: cursor.settings)
    }

    private func inboxEvents(since cursor: InboxCursor) -> [LiveEvent] {
        switch cursor.gap(to: after) {
        case .nothing: return []
        case .badge: return [badge]
        case .arrived(let ids): return bounded(arrivals(ids))
        case .unclear: return [resync]
        }
    }

    private func bounded(_ events: [LiveEvent]) -> [LiveEvent] {
        events.reduce(0) { $0 + $1.bytes.count } <= LiveEvent.mostTogether ? events : [resync]
    }

    private var resync: LiveEvent { LiveEvent(.resync, [:], known: after) }
    private var badge: LiveEvent { LiveEvent(.badge, Self.count(after.unread), known: after) }

    /// The maximum number of arrivals that are sent as separate events.
    static let mostArrivals = 50

    private func isUnclear(_ difference: InboxDifference) -> Bool {
        difference.arrived.count > Self.mostArrivals || difference.gone.contains { exits[$0] == nil }
            || difference.reachesDeeper && (after.unread > 0 || after.rows.contains { !$0.isRead })
    }

    private typealias Mark = (kind: LiveEvent.Kind, data: JSONObject)

    private func marks(of difference: InboxDifference, unread: Int) -> [Mark] {
        let readAll = difference.reachesDeeper
        var marks: [Mark] = []
        if readAll || !difference.read.isEmpty {
            let which: JSONObject = readAll ? ["all": true] : Self.ids(difference.read)
            marks.append((.read, which.with("unreadCount", .number(unread))))
        }
        let gone = Dictionary(grouping: difference.gone) { exits[$0] }
        let states: [(name: String, ids: [NotificationID], counts: Bool)] = [
            ("seen", difference.seen, false), ("unread", difference.unread, true),
            ("archived", gone[.archived] ?? [], true), ("snoozed", gone[.snoozed] ?? [], true),
            ("unarchived", difference.returned, true),
        ]
        for state in states where !state.ids.isEmpty {
            marks.append((.state, Self.ids(state.ids).with("state", .string(state.name))))
        }
        let saysCount = marks.isEmpty && difference.arrived.isEmpty
        if saysCount || states.contains(where: { $0.counts && !$0.ids.isEmpty }) {
            marks.append((.badge, Self.count(unread)))
        }
        return marks
    }

    private func arrivals(_ ids: [NotificationID]) -> [LiveEvent] {
        ids.indices.compactMap { place in
            guard let item = items[ids[place]] else { return nil }
            let known = after.before(ids[(place + 1)...])
            var json = JSONBuffer(capacity: 1_024)
            item.write(into: &json, catalog, in: language, unread: known.unread)
            return LiveEvent(.notification, json: json.array, known: known)
        }
    }

    private static func ids(_ ids: [NotificationID]) -> JSONObject {
        ["ids": .array(ids.map { .string($0.text) })]
    }

    private static func count(_ unread: Int) -> JSONObject { ["unreadCount": .number(unread)] }
}

extension JSONObject {
    fileprivate func with(_ name: String, _ value: JSONValue) -> JSONObject {
        var object = self
        object[name] = value
        return object
    }
}
