import BellhopRules

/// The layout of a badge update: a number for an app's icon and nothing that anybody sees or hears.
///
/// iOS sets the number by itself. On Android the app gets a data message whose only entry is `badge`, and shows it as
/// its launcher can. A browser must show something for every message, so it gets none.
struct FCMBadge {
    let message: PushMessage
    let now: Timestamp
    private let badge: Int

    /// Nil for a message without a number, and for browsers.
    init?(message: PushMessage, now: Timestamp) {
        guard let badge = message.shownBadge, message.platformShowsBadges else { return nil }
        self.message = message
        self.now = now
        self.badge = badge
    }

    func bytes() -> [UInt8] {
        var json = JSONBytes(capacity: 512)
        json.open("message")
        json.add("token", message.device.token.text)
        if message.device.platform == .ios { writeApple(&json) } else { writeAndroid(&json) }
        json.close()
        return json.finished()
    }

    private func writeAndroid(_ json: inout JSONBytes) {
        json.open("data")
        json.add("badge", String(badge))
        json.close()
        json.open("android")
        json.add("collapse_key", plain: PushMessage.badgeReplacementID)
        json.add("priority", plain: "NORMAL")
        json.add("ttl", message.secondsToLive(from: now).map { "\($0)s" })
        json.close()
    }

    private func writeApple(_ json: inout JSONBytes) {
        json.open("apns")
        json.open("headers")
        json.add("apns-collapse-id", plain: PushMessage.badgeReplacementID)
        json.add("apns-expiration", message.expirySeconds.map(String.init))
        json.add("apns-priority", plain: "5")
        json.add("apns-push-type", plain: "alert")
        json.close()
        json.open("payload")
        json.open("aps")
        json.add("badge", badge)
        json.close()
        json.close()
        json.close()
    }
}

extension PushMessage {
    /// Whether FCM brings a number to the device's platform without showing anything.
    var platformShowsBadges: Bool { device.platform != .web }
}
