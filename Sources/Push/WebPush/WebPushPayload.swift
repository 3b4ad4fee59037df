import BellhopRules

/// The JSON for a service worker; `docs/providers.md` is its contract.
///
/// The same message always gives the same bytes; `SizeLimitedBody` describes the reduction of long messages.
package enum WebPushPayload {
    /// Returns the payload; `nil` if the message does not fit into `limit` bytes even when reduced.
    package static func bytes(of message: PushMessage, atMost limit: Int) -> [UInt8]? {
        SizeLimitedBody.bytes(of: message, limit: limit) { parts, title, body in layout(message, title, body, parts) }
    }

    private static func layout(_ message: PushMessage, _ title: String, _ body: String, _ parts: PayloadReduction)
        -> [UInt8]
    {
        var json = JSONBytes(capacity: 512)
        json.add("id", message.notification.text)
        json.add("app", message.app.text)
        json.add("type", message.type.text)
        json.add("priority", message.priority.rawValue)
        json.add("title", title)
        json.add("body", body)
        json.add("tag", message.replacementID)
        json.add("url", message.link?.web)
        if parts != .withoutDataAndImage { json.add("image", message.imageURL) }
        if let badge = message.badge { json.add("badge", max(0, badge)) }
        json.add("expiresAt", message.expiry?.description)
        let hasData = parts == .everything
        BellhopFields(message: message, form: .values, taken: names).write(into: &json, withMetadata: hasData)
        if hasData, message.wantsData, !message.data.isEmpty { json.add("data", message.data) }
        if !hasData, message.hasOwnData { json.add("dataOmitted", true) }
        return json.finished()
    }

    /// The names that a service worker needs.
    ///
    /// They stay the same if an app's catalogue renames other fields; `url` is the field `link` of other providers.
    private static let names = [
        "id", "app", "type", "priority", "title", "body", "tag", "url", "image", "badge", "expiresAt", "link", "data",
        "dataOmitted",
    ]
}
