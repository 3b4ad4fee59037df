import BellhopRules

/// What the client gets beside the words: FCM's `data`, and the members beside `aps` at APNs.
///
/// First what Bellhop says itself (``OwnFields``), then the members of the event's `data`, of which numbers and flags become
/// texts, objects and arrays JSON; `null` and empty names are left out. Of one name, the first one written stays. Names that
/// FCM or APNs keep for themselves (`from`, `message_type`, `collapse_key`, `aps`, `fcm_options`, and what begins with `gcm`
/// or `google`) get `x_` in front.
struct ClientData {
    let message: PushMessage
    let form: OwnFields.Form
    /// The image, where it has to travel here.
    var imageURL: String?
    /// What the app has to know to draw the notification itself.
    var drawing: Drawing?

    /// Writes the members; where the event's own data is left out although there is some, `dataOmitted` says so.
    ///
    /// Past `most` bytes the rest is skipped, since nobody will send it: an event may bring 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        drawing?.write(into: &json)
        let own = OwnFields(message: message, form: form, taken: drawing == nil ? [] : Drawing.names)
        own.write(into: &json, withMetadata: withOwnData)
        json.add("imageUrl", imageURL)
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", plain: "true") }
            return
        }
        guard message.wantsData else { return }
        let names = message.clientNames
        var data = IndexedMembers(message.data)
        for member in message.data.members {
            guard json.count <= most else { return }
            add(member, names, to: &json) { data[$0] == nil }
        }
    }

    /// Writes a member, under another name where its own is reserved and the other one is free.
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
            || (drawing != nil && Drawing.names.contains(key))
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

/// What an Android app finds in the data of a message that it puts on the screen itself: the words, and what the platform
/// would have been told.
struct Drawing {
    let title: String
    let body: String
    let message: PushMessage

    /// Under which nothing else stands.
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
