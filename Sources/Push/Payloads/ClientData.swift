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
    /// Whether the data must contain the image's URL.
    var hasImage = false
    /// The values that the app needs to display the notification itself.
    var drawing: DisplayFields?

    /// Writes the members; `dataOmitted` marks that the event has data which are left out.
    ///
    /// After `most` bytes the rest is skipped, because the result will not be sent: an event may contain 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        drawing?.write(into: &json)
        let own = BellhopFields(message: message, form: form, taken: drawing == nil ? [] : DisplayFields.names)
        own.write(into: &json, withMetadata: withOwnData)
        if hasImage { json.add("imageUrl", .imageURL, of: message.texts) }
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", plain: "true") }
            return
        }
        guard message.wantsData else { return }
        message.texts.with(.data) { data in
            if let data { write(data, into: &json, atMost: most) }
        }
    }

    private func write(_ data: UnsafeBufferPointer<UInt8>, into json: inout JSONBytes, atMost most: Int) {
        let names = message.clientNames
        // The event's names that a renamed member could have, collected for the first of these.
        var prefixed: Set<[UInt8]>?
        for member in CanonicalMembers(of: data) {
            guard json.count <= most else { return }
            guard !member.isNull, !member.key.isEmpty, !isOurs(member.key, names) else { continue }
            guard ClientNames.isReserved(member.key) else {
                json.add(text: member)
                continue
            }
            let taken = prefixed ?? Self.prefixedNames(in: data)
            prefixed = taken
            let renamed = Array("x_".utf8) + member.key
            let isFree = !taken.contains(renamed) && !renamed.withUnsafeBufferPointer { isOurs($0, names) }
            if isFree { json.add(text: member, prefix: "x_") }
        }
    }

    private static func prefixedNames(in data: UnsafeBufferPointer<UInt8>) -> Set<[UInt8]> {
        Set(CanonicalMembers(of: data).lazy.map { Array($0.key) }.filter { $0.starts(with: "x_".utf8) })
    }

    private func isOurs(_ key: UnsafeBufferPointer<UInt8>, _ names: ClientNames) -> Bool {
        func isName(_ name: String) -> Bool { name.withBytes { $0.hasSameBytes(as: key) } }
        return message.isOwnName(key, names) || (hasImage && message.texts.has(.imageURL) && isName("imageUrl"))
            || (drawing != nil && DisplayFields.names.contains(where: isName))
    }
}

/// The data of a message that an Android app displays itself: the texts, and the options that Android would otherwise
/// receive.
struct DisplayFields {
    let words: PushWords

    /// The names that no other member may use.
    static let names = [
        "title", "body", "tag", "channelId", "visibility", "importance", "sound", "icon", "color",
    ]

    func write(into json: inout JSONBytes) {
        let message = words.message
        let presentation = message.android
        words.addTitle(to: &json)
        words.addBody(to: &json)
        json.add("tag", message.replacementID)
        json.add("channelId", presentation.channelID)
        json.add("visibility", presentation.visibility?.rawValue)
        json.add("importance", presentation.importance?.rawValue)
        json.add("sound", presentation.sound)
        json.add("icon", presentation.icon)
        json.add("color", presentation.color)
    }
}
