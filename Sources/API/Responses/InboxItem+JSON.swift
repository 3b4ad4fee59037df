import BellhopJSON
import BellhopRules
import HTTPServer
import Store

extension InboxItem {
    /// Writes the item in the clients' form, with the appearance of its type, and its buttons in a language.
    ///
    /// Its fields have the names of the push, so that a tap in the list does the same as a tap on the push. An event of a
    /// stream also states the number of unread notifications.
    func write(into json: inout JSONBuffer, _ catalog: Catalog, in language: LanguageTag?, unread: Int? = nil) {
        let look = catalog[type]
        json.append(UInt8(ascii: "{"))
        if let actions = actions(catalog, language) {
            json.begin("actions")
            json.append(actions)
        }
        json.append("archived", isArchived)
        json.append("background", look?.background)
        json.append("body", body)
        json.append("color", look?.color)
        json.append("createdAt", createdAt.inMilliseconds)
        json.append("data", data)
        json.append("expiresAt", expiresAt?.inMilliseconds)
        json.append("icon", look?.icon)
        json.append("id", id.text)
        json.append("imageUrl", imageURL)
        json.begin("link")
        Self.write(link, into: &json)
        json.append("metadata", metadata)
        json.append("priority", priority.rawValue)
        json.append("read", isRead)
        json.append("seen", isSeen)
        json.append("snoozedUntil", snoozedUntil?.inMilliseconds)
        json.append("targetId", targetID)
        json.append("title", title)
        json.append("type", type.text)
        if let unread { json.append("unreadCount", unread) }
        json.append("venueId", venueID)
        json.append("venue_id", venueID)
        json.append(UInt8(ascii: "}"))
    }

    private static func write(_ link: DeepLink?, into json: inout JSONBuffer) {
        guard let link else { return json.append(JSONValue.null) }
        json.append(UInt8(ascii: "{"))
        json.append("mobile", link.mobile)
        if let scheme = link.scheme { json.append("scheme", scheme) }
        json.append("web", link.web)
        json.append(UInt8(ascii: "}"))
    }

    /// Returns the buttons; `nil` if there are none.
    private func actions(_ catalog: Catalog, _ language: LanguageTag?) -> JSONValue? {
        // Only a button's template needs the members of the data.
        guard catalog.hasActions else { return nil }
        let actions = catalog.actions(
            of: type,
            data: data.object,
            targetID: targetID,
            venueID: venueID,
            language: language
        )
        guard !actions.isEmpty else { return nil }
        return .array(actions.map { ["label": .string($0.label), "link": .object($0.link.json)] })
    }
}

extension InboxPage {
    /// Returns the page in the clients' form; `cursor` is the place at which a stream continues after it.
    func json(_ catalog: Catalog, cursor: InboxCursor?) -> [UInt8] {
        var json = JSONBuffer(capacity: 256 + 1_024 * (items.count + pinned.count))
        json.append(UInt8(ascii: "{"))
        json.begin("data")
        write(items, into: &json, catalog)
        json.append("lastEventId", cursor?.text)
        json.append("next", next?.text)
        json.begin("pinned")
        write(pinned, into: &json, catalog)
        json.append("unreadCount", unread)
        json.append(UInt8(ascii: "}"))
        return json.array
    }

    private func write(_ items: [InboxItem], into json: inout JSONBuffer, _ catalog: Catalog) {
        json.append(UInt8(ascii: "["))
        for index in items.indices {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            items[index].write(into: &json, catalog, in: language)
        }
        json.append(UInt8(ascii: "]"))
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
