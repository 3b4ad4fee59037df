import BellhopJSON
import BellhopRules
import Store

/// Converts the changes of an inbox into events.
struct LiveEventBuilder {
    let after: InboxSnapshot
    /// The content of notifications that have arrived.
    let items: [NotificationID: InboxItem]
    let exits: [NotificationID: RemovedReason]
    let catalog: Catalog

    /// Returns the events for clients that have the previous state.
    ///
    /// The list is empty if nothing has changed.
    func events(of difference: InboxDifference, since before: InboxSnapshot) -> [LiveEvent] {
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
            || difference.reachesDeeper && after.unread > 0
    }

    private typealias Mark = (kind: LiveEvent.Kind, data: JSONObject)

    private func marks(of difference: InboxDifference, unread: Int) -> [Mark] {
        let readAll = difference.reachesDeeper && after.unread == 0
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
            guard let item = items[ids[place]], case .object(let object) = item.json(catalog) else { return nil }
            let known = after.before(ids[(place + 1)...])
            return LiveEvent(.notification, object.with("unreadCount", .number(known.unread)), known: known)
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
