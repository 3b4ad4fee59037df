import BellhopRules

/// The client's data in addition to the texts: FCM's `data`, and the members next to `aps` at APNs.
///
/// The first members are Bellhop's fields (``BellhopFields``), followed by the members of the event's `data`. Numbers
/// and flags become texts, and objects and arrays become JSON. `null` and empty names are left out. If a name occurs
/// twice, the first member is used. FCM or APNs reserve the names `from`, `message_type`, `collapse_key`, `aps` and
/// `fcm_options`, and names that begin with `gcm` or `google`. These names get the prefix `x_`.
struct ClientData {
    let message: PushMessage
    let form: BellhopFields.Form
    /// The image's URL, if the data must contain it.
    var imageURL: String?
    /// The values that the app needs to display the notification itself.
    var drawing: DisplayFields?

    /// Writes the members; `dataOmitted` marks that the event has data which are left out.
    ///
    /// After `most` bytes the rest is skipped, because the result will not be sent: an event may contain 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        drawing?.write(into: &json)
        let own = BellhopFields(message: message, form: form, taken: drawing == nil ? [] : DisplayFields.names)
        own.write(into: &json, withMetadata: withOwnData)
        json.add("imageUrl", imageURL)
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", plain: "true") }
            return
        }
        guard message.wantsData else { return }
        let names = message.clientNames
        // An event may have ten thousand members, and each of them needs a lookup.
        let value = message.data.finder()
        for member in message.data.members {
            guard json.count <= most else { return }
            add(member, names, to: &json) { value($0) == nil }
        }
    }

    /// Writes a member, under another name if its own is reserved and the other one is free.
    private func add(
        _ member: JSONObject.Member,
        _ names: ClientNames,
        to json: inout JSONBytes,
        where isFree: (String) -> Bool
    ) {
        guard member.value != .null, !member.key.isEmpty, !isOurs(member.key, names) else { return }
        guard ClientNames.isReserved(member.key) else {
            return json.add(foreign: member.key, Self.text(of: member.value))
        }
        let renamed = "x_" + member.key
        if isFree(renamed), !isOurs(renamed, names) { json.add(foreign: renamed, Self.text(of: member.value)) }
    }

    private func isOurs(_ key: String, _ names: ClientNames) -> Bool {
        message.isOwnName(key, names) || (key == "imageUrl" && imageURL != nil)
            || (drawing != nil && DisplayFields.names.contains(key))
    }

    private static func text(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .number(let number): number.text
        case .string(let text): text
        case .array, .object: String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self)
        }
    }
}

/// The data of a message that an Android app displays itself: the texts, and the options that Android would otherwise
/// receive.
struct DisplayFields {
    let title: String
    let body: String
    let message: PushMessage

    /// The names that no other member may use.
    static let names = [
        "title", "body", "tag", "channelId", "visibility", "importance", "sound", "icon", "color",
    ]

    func write(into json: inout JSONBytes) {
        let presentation = message.presentation.android
        json.add("title", title)
        json.add("body", body)
        json.add("tag", message.replacementID)
        json.add("channelId", presentation.channelID)
        json.add("visibility", presentation.visibility?.rawValue)
        json.add("importance", presentation.importance?.rawValue)
        json.add("sound", presentation.sound)
        json.add("icon", presentation.icon)
        json.add("color", presentation.color)
    }
}
