import BellhopJSON
import BellhopRules
import HTTPServer
import Store

extension InboxItem {
    /// Returns the item in the clients' form, with the appearance of its type, and its buttons in a language.
    func json(_ catalog: Catalog, in language: LanguageTag?) -> JSONValue {
        let look = catalog[type]
        let what: JSONObject = [
            "id": .string(id.text), "type": .string(type.text), "title": .string(title), "body": .string(body),
            "priority": .string(priority.rawValue), "createdAt": .string(createdAt.inMilliseconds),
            "data": .object(data), "link": link.map { .object($0.json) } ?? .null,
        ]
        // Under the names of the push, so that a tap in the list does the same as a tap on the push.
        let pushed: JSONObject = [
            "targetId": .optional(extras.targetID), "metadata": .object(extras.metadata),
            "venueId": .optional(venueID), "venue_id": .optional(venueID), "imageUrl": .optional(extras.imageURL),
            "expiresAt": .optional(extras.expiresAt?.inMilliseconds),
        ]
        let state: JSONObject = [
            "read": .bool(isRead), "seen": .bool(isSeen), "archived": .bool(isArchived),
            "snoozedUntil": .optional(snoozedUntil?.inMilliseconds),
            "icon": .optional(look?.icon), "color": .optional(look?.color), "background": .optional(look?.background),
        ]
        var object = JSONObject((what.members + pushed.members + state.members).map { ($0.key, $0.value) })
        object["actions"] = actions(catalog, language)
        return .object(object)
    }

    /// Returns the buttons; `nil` if there are none.
    private func actions(_ catalog: Catalog, _ language: LanguageTag?) -> JSONValue? {
        let actions = catalog.actions(
            of: type,
            data: data,
            targetID: extras.targetID,
            venueID: venueID,
            language: language
        )
        guard !actions.isEmpty else { return nil }
        return .array(actions.map { ["label": .string($0.label), "link": .object($0.link.json)] })
    }
}

extension HTTPResponse {
    static func object(_ object: JSONObject, status: Int = 200) -> HTTPResponse {
        .json(JSONWriter.canonicalBytes(of: .object(object)), status: status)
    }

    /// Success without a body.
    static let done = HTTPResponse(status: 204)
}

extension JSONValue {
    /// Returns the text, or `null` for `nil`.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    static func number(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }
}
