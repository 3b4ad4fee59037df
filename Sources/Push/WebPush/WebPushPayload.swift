import BellhopRules

/// The JSON that a service worker gets; `docs/providers.md` is its contract.
///
/// The same message always gives the same bytes; `FittedBody` says what gives way where it is too long.
package enum WebPushPayload {
    /// Nil where the message does not fit into `limit` bytes even so.
    package static func bytes(of message: PushMessage, atMost limit: Int) -> [UInt8]? {
        FittedBody.bytes(of: message, limit: limit) { parts, title, body in layout(message, title, body, parts) }
    }

    private static func layout(_ message: PushMessage, _ title: String, _ body: String, _ parts: MessageParts)
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
        OwnFields(message: message, form: .values, taken: names).write(into: &json, withMetadata: hasData)
        if hasData, message.wantsData, !message.data.isEmpty { json.add("data", message.data) }
        if !hasData, message.hasOwnData { json.add("dataOmitted", true) }
        return json.finished()
    }

    /// What a service worker needs, and finds whatever else an app wants under other names; `url` is what others call
    /// `link`.
    private static let names = [
        "id", "app", "type", "priority", "title", "body", "tag", "url", "image", "badge", "expiresAt", "link", "data",
        "dataOmitted",
    ]
}
