import BellhopRules

/// What the client gets beside the words, text to text: FCM's `data`, and the members beside `aps` at APNs.
///
/// Both give an app the same names and values. First our own names (`type`, `notificationId`, `targetId`, `venueId`;
/// `route`, `link` and `scheme`, which are where a tap leads on a phone, in a browser and by the app's own URL;
/// `imageUrl` where the provider has no place for an image), then the entries of `metadata`, then the members of
/// `data`. Of one name, the first one written stays. Numbers and flags become texts, objects and arrays JSON; `null`
/// and empty names are left out. Names that FCM or APNs keep for themselves (`from`, `message_type`, `collapse_key`,
/// `aps`, `fcm_options`, and what begins with `gcm` or `google`) get `x_` in front.
struct ClientData {
    let message: PushMessage
    /// The image, where it has to travel here.
    var imageURL: String?

    /// Writes the members; where the event's own data is left out although there is some, `dataOmitted` says so.
    ///
    /// Past `most` bytes the rest is skipped, since nobody will send it: an event may bring 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        json.addOwnNames(of: message)
        json.add("imageUrl", imageURL)
        guard withOwnData else {
            if !message.metadata.isEmpty || !message.data.isEmpty { json.add("dataOmitted", plain: "true") }
            return
        }
        var metadata = IndexedMembers(message.metadata)
        var data = IndexedMembers(message.data)
        func isFree(_ name: String) -> Bool { metadata[name] == nil && data[name] == nil }
        for member in message.metadata.members {
            guard json.bytes.count <= most else { return }
            add(member, to: &json, where: isFree)
        }
        for member in message.data.members {
            guard json.bytes.count <= most else { return }
            if let said = metadata[member.key], Self.isThere(said) { continue }
            add(member, to: &json, where: isFree)
        }
    }

    /// Writes a member, under another name where its own is reserved and the other one is free.
    private func add(_ member: JSONObject.Member, to json: inout JSONBytes, where isFree: (String) -> Bool) {
        guard Self.isThere(member.value), !member.key.isEmpty, !isOurs(member.key) else { return }
        guard Self.isReserved(member.key) else { return json.add(foreign: member.key, Self.text(of: member.value)) }
        let renamed = "x_" + member.key
        if isFree(renamed) { json.add(foreign: renamed, Self.text(of: member.value)) }
    }

    /// `null` stands for a value that is not there.
    private static func isThere(_ value: JSONValue) -> Bool {
        if case .null = value { false } else { true }
    }

    private func isOurs(_ key: String) -> Bool {
        message.isOwnName(key) || (key == "imageUrl" && imageURL != nil)
    }

    private static func isReserved(_ key: String) -> Bool {
        switch key.utf8.first {
        case UInt8(ascii: "a"): key == "aps"
        case UInt8(ascii: "c"): key == "collapse_key"
        case UInt8(ascii: "f"): key == "from" || key == "fcm_options"
        case UInt8(ascii: "g"): key.utf8.starts(with: "gcm".utf8) || key.utf8.starts(with: "google".utf8)
        case UInt8(ascii: "m"): key == "message_type"
        default: false
        }
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
