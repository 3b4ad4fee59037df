package import BellhopRules

/// Builds one message for Expo's push service, which is an element of a request's array.
///
/// The same message always gives the same bytes. The whole message is within Expo's limit, whichever part of it Expo
/// counts; `SizeLimitedBody` describes the reduction.
package enum ExpoMessage {
    /// The maximum number of bytes of a message.
    package static let limit = 4096

    /// Returns the message's bytes; `nil` if it does not fit even when reduced.
    ///
    /// The time to live counts from `now`.
    package static func bytes(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else {
            let whole = ExpoBody(message: message, now: now, parts: .withoutDataAndImage).badgeUpdate()
            return whole.count > limit ? nil : whole
        }
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, words in
            ExpoBody(message: message, now: now, parts: parts).bytes(words)
        }
    }
}

/// The layout of a message for Expo: one flat object, which contains only members for the device's platform.
struct ExpoBody {
    let message: PushMessage
    let now: Timestamp
    let parts: PayloadReduction

    func bytes(_ words: PushWords) -> [UInt8] {
        var json = JSONBytes(capacity: 1024)
        json.add("to", message.token)
        words.addTitle(to: &json)
        if words.hasBody { words.addBody(to: &json) }
        json.open("data")
        let most = ExpoMessage.limit + words.mostBytes
        ExpoData(message: message).write(into: &json, withOwnData: parts == .everything, atMost: most)
        json.close()
        writeDelivery(&json, isPatient: message.isPatient)
        if let badge { json.add("badge", badge) }
        switch message.platform {
        case .android: writeAndroid(&json)
        case .ios, .web: writeApple(&json)
        }
        if parts != .withoutDataAndImage, message.texts.has(.imageURL) {
            json.open("richContent")
            json.add("image", .imageURL, of: message.texts)
            json.close()
        }
        return json.finished()
    }

    /// Returns a message with the badge alone.
    ///
    /// On iOS, Expo wakes the app or sets the badge itself. Android has no such number, so its app finds it in the data
    /// of a message without texts.
    func badgeUpdate() -> [UInt8] {
        var json = JSONBytes(capacity: 256)
        json.add("to", message.token)
        json.open("data")
        json.add("type", message.type.text)
        json.add("notificationId", message.notification.text)
        if let badge, message.platform == .android { json.add("badge", badge) }
        json.close()
        writeDelivery(&json, isPatient: true)
        if message.platform != .android {
            if let badge { json.add("badge", badge) }
            json.add("collapseId", message.replacementID)
        }
        json.add("_contentAvailable", true)
        return json.finished()
    }

    /// Writes the time to live and the priority.
    ///
    /// The time to live is always explicit, because Expo has changed its default before.
    private func writeDelivery(_ json: inout JSONBytes, isPatient: Bool) {
        json.add("ttl", message.secondsToLive(from: now) ?? PushMessage.longestLife)
        json.add("priority", plain: isPatient ? "normal" : "high")
    }

    private func writeAndroid(_ json: inout JSONBytes) {
        let presentation = message.android
        json.add("sound", presentation.sound)
        json.add("channelId", presentation.channelID)
        json.add("icon", presentation.icon)
        json.add("tag", message.replacementID)
    }

    private func writeApple(_ json: inout JSONBytes) {
        let presentation = message.apple
        json.add("sound", presentation.sound)
        json.add("categoryId", presentation.category)
        json.add("interruptionLevel", presentation.interruptionLevel?.rawValue)
        if presentation.isMutable { json.add("mutableContent", true) }
        json.add("collapseId", message.replacementID)
    }

    /// The badge within the range of both platforms, which count in 32 bits.
    private var badge: Int? { message.badge.map { min(max($0, 0), Int(Int32.max)) } }
}

/// The client's data in addition to the texts: Expo's `data`, which accepts values of every kind.
///
/// The first members are Bellhop's fields (``BellhopFields``), followed by the members of the event's `data` with
/// unchanged values. If a name occurs twice, the first member is used; `null` and empty names are left out. The
/// notification's id is included because Expo, too, may deliver twice.
struct ExpoData {
    let message: PushMessage

    /// Writes the members; `dataOmitted` marks that the event has data which are left out.
    ///
    /// After `most` bytes the rest is skipped, because the result will not be sent: an event may contain 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        BellhopFields(message: message, form: .values).write(into: &json, withMetadata: withOwnData)
        guard withOwnData else {
            if message.hasOwnData { json.add("dataOmitted", true) }
            return
        }
        guard message.wantsData else { return }
        let names = message.clientNames
        message.texts.with(.data) { data in
            guard let data else { return }
            for member in CanonicalMembers(of: data) where isFree(member, names) {
                guard json.count <= most else { return }
                json.add(member)
            }
        }
    }

    /// Returns whether a member may be written: it has a value, and its name is not one of Bellhop's.
    private func isFree(_ member: CanonicalMembers.Member, _ names: ClientNames) -> Bool {
        !member.isNull && !member.key.isEmpty && !message.isOwnName(member.key, names)
    }
}
