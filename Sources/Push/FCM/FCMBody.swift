import BellhopRules

/// The layout of FCM's request body: `message` with `token`, `notification`, `data` and the block of the one platform.
struct FCMBody {
    let message: PushMessage
    let now: Timestamp
    let cargo: FCMCargo

    /// Four weeks, FCM's longest and its default.
    private static let longestLife: Int64 = 2_419_200

    func bytes(title: String, body: String) -> [UInt8] {
        var json = JSONBytes(capacity: 1024)
        json.open("message")
        json.add("token", message.device.token.text)
        json.open("notification")
        json.add("title", title)
        if !body.isEmpty { json.add("body", body) }
        if cargo != .withoutDataAndImage { json.add("image", message.imageURL) }
        json.close()
        json.open("data")
        let most = FCMRequest.limit + title.jsonByteCount + body.jsonByteCount
        FCMData(message: message).write(into: &json, withOwnData: cargo == .everything, atMost: most)
        json.close()
        switch message.device.platform {
        case .android: writeAndroid(&json)
        case .ios: writeApple(&json)
        case .web: writeWeb(&json)
        }
        json.close()
        return json.finished()
    }

    /// A notification that people see is FCM's and APNs' urgent kind by default; only what has time says so.
    private var isPatient: Bool { message.priority == .low }

    private var secondsToLive: Int? {
        message.expiry.map { expiry in
            let left = (expiry.microseconds - now.microseconds) / 1_000_000
            return Int(clamping: min(max(left, 0), Self.longestLife))
        }
    }

    /// Both platforms count in 32 bits.
    private var badge: Int? {
        message.badge.map { min(max($0, 0), Int(Int32.max)) }
    }

    private func writeAndroid(_ json: inout JSONBytes) {
        let presentation = message.presentation.android
        json.open("android")
        json.add("priority", plain: isPatient ? "NORMAL" : "HIGH")
        json.add("ttl", secondsToLive.map { "\($0)s" })
        json.open("notification")
        json.add("tag", message.replacementID)
        json.add("channel_id", presentation.channelID)
        if let visibility = presentation.visibility { json.add("visibility", plain: visibility.fcmName) }
        if let importance = presentation.importance { json.add("notification_priority", plain: importance.fcmName) }
        json.add("sound", presentation.sound)
        json.add("icon", presentation.icon)
        json.add("color", presentation.color)
        if let badge { json.add("notification_count", badge) }
        json.close()
        json.close()
    }

    private func writeApple(_ json: inout JSONBytes) {
        let presentation = message.presentation.apple
        json.open("apns")
        json.open("headers")
        json.add("apns-collapse-id", message.replacementID)
        json.add("apns-expiration", message.expiry.map { String($0.microseconds / 1_000_000) })
        json.add("apns-priority", plain: isPatient ? "5" : "10")
        json.close()
        writePayload(presentation, &json)
        json.close()
    }

    private func writePayload(_ presentation: ApplePresentation, _ json: inout JSONBytes) {
        guard badge != nil || presentation != ApplePresentation(sound: nil) else { return }
        json.open("payload")
        json.open("aps")
        if let badge { json.add("badge", badge) }
        if presentation.isMutable { json.add("mutable-content", 1) }
        json.add("sound", presentation.sound)
        json.add("category", presentation.category)
        json.add("thread-id", presentation.thread)
        json.add("interruption-level", presentation.interruptionLevel?.rawValue)
        json.close()
        json.close()
    }

    private func writeWeb(_ json: inout JSONBytes) {
        json.open("webpush")
        json.open("headers")
        json.add("TTL", secondsToLive.map(String.init))
        json.add("Urgency", message.priority.rawValue)
        json.close()
        json.open("notification")
        json.add("tag", message.replacementID)
        json.close()
        json.close()
    }
}

extension AndroidOptions.Visibility {
    fileprivate var fcmName: StaticString {
        switch self {
        case .everything: "PUBLIC"
        case .presence: "PRIVATE"
        case .nothing: "SECRET"
        }
    }
}

extension AndroidOptions.Importance {
    fileprivate var fcmName: StaticString {
        switch self {
        case .min: "PRIORITY_MIN"
        case .low: "PRIORITY_LOW"
        case .default: "PRIORITY_DEFAULT"
        case .high: "PRIORITY_HIGH"
        case .max: "PRIORITY_MAX"
        }
    }
}
