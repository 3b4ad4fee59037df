import BellhopJSON
import BellhopRules
import Store

/// Puts what has happened to an inbox into events.
struct LiveNews {
    let after: InboxGlimpse
    /// The words of what has come.
    let items: [NotificationID: InboxItem]
    let exits: [NotificationID: InboxExit]
    let catalog: Catalog

    /// For somebody who knew what stood there before; nothing where nothing has happened.
    func events(of difference: InboxDifference, since before: InboxGlimpse) -> [LiveEvent] {
        if difference.isEmpty { return [] }
        guard !isUnclear(difference) else { return [resync] }
        let base = after.before(difference.arrived)
        let marks = marks(of: difference, unread: base.unread)
        // Said again after a break they change nothing; so all but the last leave their reader where it was.
        let told = marks.enumerated().map { place, mark in
            LiveEvent(mark.kind, mark.data, known: place == marks.count - 1 ? base : before)
        }
        return told + arrivals(difference.arrived)
    }

    /// For somebody who comes with a cursor, or with none.
    func events(since cursor: InboxCursor?) -> [LiveEvent] {
        guard let cursor else { return [badge] }
        switch cursor.gap(to: after) {
        case .nothing: return []
        case .badge: return [badge]
        case .arrived(let ids): return arrivals(ids)
        case .unclear: return [resync]
        }
    }

    private var resync: LiveEvent { LiveEvent(.resync, [:], known: after) }
    private var badge: LiveEvent { LiveEvent(.badge, Self.count(after.unread), known: after) }

    /// Arrivals that are told one by one.
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
