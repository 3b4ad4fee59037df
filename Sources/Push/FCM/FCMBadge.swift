import BellhopRules

/// The layout of a badge update: a number for an app's icon, without any visible or audible notification.
///
/// iOS sets the number automatically. On Android, the app receives a data message with the single entry `badge`, and
/// displays it if its launcher can. A browser must display something for every message, so it gets none.
struct FCMBadge {
    let message: PushMessage
    let now: Timestamp
    private let badge: Int

    /// Creates the layout; `nil` for a message without a number, and for browsers.
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
    /// Whether FCM can transport a number to the device's platform without a visible notification.
    var platformShowsBadges: Bool { device.platform != .web }
}
