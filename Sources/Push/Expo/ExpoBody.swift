import BellhopRules

/// The layout of a message for Expo: one flat object, which contains only members for the device's platform.
struct ExpoBody {
    let message: PushMessage
    let now: Timestamp
    let parts: PayloadReduction

    func bytes(title: String, body: String) -> [UInt8] {
        var json = JSONBytes(capacity: 1024)
        json.add("to", message.device.token.text)
        json.add("title", title)
        if !body.isEmpty { json.add("body", body) }
        json.open("data")
        let most = ExpoMessage.limit + title.jsonByteCount + body.jsonByteCount
        ExpoData(message: message).write(into: &json, withOwnData: parts == .everything, atMost: most)
        json.close()
        writeDelivery(&json, isPatient: message.isPatient)
        if let badge { json.add("badge", badge) }
        switch message.device.platform {
        case .android: writeAndroid(&json)
        case .ios, .web: writeApple(&json)
        }
        if parts != .withoutDataAndImage, let image = message.imageURL {
            json.open("richContent")
            json.add("image", image)
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
        json.add("to", message.device.token.text)
        json.open("data")
        json.add("type", message.type.text)
        json.add("notificationId", message.notification.text)
        if let badge, message.device.platform == .android { json.add("badge", badge) }
        json.close()
        writeDelivery(&json, isPatient: true)
        if message.device.platform != .android {
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
        let presentation = message.presentation.android
        json.add("sound", presentation.sound)
        json.add("channelId", presentation.channelID)
        json.add("icon", presentation.icon)
        json.add("tag", message.replacementID)
    }

    private func writeApple(_ json: inout JSONBytes) {
        let presentation = message.presentation.apple
        json.add("sound", presentation.sound)
        json.add("categoryId", presentation.category)
        json.add("interruptionLevel", presentation.interruptionLevel?.rawValue)
        if presentation.isMutable { json.add("mutableContent", true) }
        json.add("collapseId", message.replacementID)
    }

    /// The badge within the range of both platforms, which count in 32 bits.
    private var badge: Int? {
        message.badge.map { min(max($0, 0), Int(Int32.max)) }
    }
}
