import BellhopRules

/// The layout of APNs' payload: `aps`, and next to it the data for the app.
struct APNsBody {
    let message: PushMessage
    let parts: PayloadReduction

    func bytes(title: String, body: String) -> [UInt8] {
        let hasImage = parts != .withoutDataAndImage
        var json = JSONBytes(capacity: 1024)
        json.open("aps")
        json.open("alert")
        json.add("title", title)
        if !body.isEmpty { json.add("body", body) }
        json.close()
        APSFields(message, withImage: hasImage).write(into: &json)
        json.close()
        let most = APNsPush.limit + title.jsonByteCount + body.jsonByteCount
        let data = ClientData(
            message: message,
            form: .values,
            imageURL: hasImage ? message.imageURL : nil
        )
        data.write(into: &json, withOwnData: parts == .everything, atMost: most)
        return json.finished()
    }

    /// Returns a payload with the badge alone, without light or sound; Apple counts it as an alert, too.
    func badgeUpdate() -> [UInt8] {
        var json = JSONBytes(capacity: 64)
        json.open("aps")
        if let badge = message.shownBadge { json.add("badge", badge) }
        json.close()
        return json.finished()
    }
}
