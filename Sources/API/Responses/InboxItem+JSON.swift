import BellhopJSON
import BellhopRules
import Store

extension InboxItem {
    /// Returns the item in the clients' form, with the appearance of its type.
    func json(_ catalog: Catalog) -> JSONValue {
        let look = catalog[type]
        let what: JSONObject = [
            "id": .string(id.text), "type": .string(type.text), "title": .string(title), "body": .string(body),
            "priority": .string(priority.rawValue), "createdAt": .string(createdAt.inMilliseconds),
            "venueId": .optional(venueID), "data": .object(data), "link": link.map { .object($0.json) } ?? .null,
        ]
        let state: JSONObject = [
            "read": .bool(isRead), "seen": .bool(isSeen), "archived": .bool(isArchived),
            "snoozedUntil": .optional(snoozedUntil?.inMilliseconds),
            "icon": .optional(look?.icon), "color": .optional(look?.color), "background": .optional(look?.background),
        ]
        return .object(JSONObject((what.members + state.members).map { ($0.key, $0.value) }))
    }
}
