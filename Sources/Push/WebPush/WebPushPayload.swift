import BellhopRules

/// The JSON that a service worker gets; `docs/providers.md` is its contract.
///
/// The same message always gives the same bytes. What is too long gives way in this order: the body's words, the
/// title's words, all of the event's own data (`dataOmitted` stands in its place), the image.
package enum WebPushPayload {
    /// Nil where the message does not fit into `limit` bytes even so.
    package static func bytes(of message: PushMessage, atMost limit: Int) -> [UInt8]? {
        for cargo in Cargo.allCases {
            let whole = layout(message, message.title, message.body, cargo)
            guard whole.count > limit else { return whole }
            let room = limit - (whole.count - message.title.jsonByteCount - message.body.jsonByteCount)
            let words = ShortenedWords(title: message.title, body: message.body, room: room)
            if let words { return layout(message, words.title, words.body, cargo) }
        }
        return nil
    }

    /// How much of a message travels, in the order in which it is tried.
    private enum Cargo: CaseIterable {
        case everything
        case withoutData
        case withoutDataAndImage
    }

    private static func layout(_ message: PushMessage, _ title: String, _ body: String, _ cargo: Cargo) -> [UInt8] {
        var json = JSONBytes(capacity: 512)
        json.add("id", message.notification.text)
        json.add("app", message.app.text)
        json.add("type", message.type.text)
        json.add("priority", message.priority.rawValue)
        json.add("title", title)
        json.add("body", body)
        json.add("tag", message.replacementID)
        json.add("url", message.link?.web)
        json.add("scheme", message.link?.scheme)
        json.add("targetId", message.targetID)
        json.add("venueId", message.venueID)
        if cargo != .withoutDataAndImage { json.add("image", message.imageURL) }
        if let badge = message.badge { json.add("badge", max(0, badge)) }
        json.add("expiresAt", message.expiry?.description)
        if cargo == .everything {
            if !message.metadata.isEmpty { json.add("metadata", message.metadata) }
            if !message.data.isEmpty { json.add("data", message.data) }
        } else if !message.metadata.isEmpty || !message.data.isEmpty {
            json.add("dataOmitted", true)
        }
        return json.finished()
    }
}
