package import BellhopRules

/// Builds the body of one request to FCM's HTTP v1 API.
///
/// The same message always gives the same bytes. The whole body is within FCM's limit for its payload, whichever part
/// of it FCM counts; `SizeLimitedBody` describes the reduction.
package enum FCMRequest {
    /// The maximum number of bytes of a body.
    package static let limit = 4096

    /// Returns the body.
    ///
    /// It is `nil` if the message does not fit even when shortened, or if FCM cannot transport its purpose to its
    /// platform. The time to live counts from `now`.
    package static func body(of message: PushMessage, now: Timestamp) -> [UInt8]? {
        guard message.purpose == .alert else { return FCMBadge(message: message, now: now)?.bytes() }
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, title, body in
            FCMBody(message: message, now: now, parts: parts).bytes(title: title, body: body)
        }
    }

    /// Returns the verdict on a message without a body.
    static func refusal(of message: PushMessage) -> Verdict {
        guard message.purpose == .badgeUpdate else { return .payloadError(.payloadTooLarge) }
        return .payloadError(message.platformShowsBadges ? .invalidRequest : .unsupportedPurpose)
    }
}

/// The layout of FCM's request body: `message` with `token`, `notification`, `data` and the block of the one platform.
struct FCMBody {
    let message: PushMessage
    let now: Timestamp
    let parts: PayloadReduction
    private let presentation: AndroidPresentation

    init(message: PushMessage, now: Timestamp, parts: PayloadReduction) {
        self.message = message
        self.now = now
        self.parts = parts
        presentation = message.presentation.android
    }

    func bytes(title: String, body: String) -> [UInt8] {
        var json = JSONBytes(capacity: 1024)
        json.open("message")
        json.add("token", message.device.token.text)
        if !isDrawnByApp { writeNotification(&json, title, body) }
        json.open("data")
        // An escape has at most six bytes.
        let most = FCMRequest.limit + 6 * (title.utf8.count + body.utf8.count)
        let drawing = isDrawnByApp ? DisplayFields(title: title, body: body, message: message) : nil
        let data = ClientData(
            message: message,
            form: .texts,
            imageURL: isDrawnByApp ? imageURL : nil,
            drawing: drawing
        )
        data.write(into: &json, withOwnData: parts == .everything, atMost: most)
        json.close()
        switch message.device.platform {
        case .android: writeAndroid(&json)
        case .ios: writeApple(&json)
        case .web: writeWeb(&json)
        }
        json.close()
        return json.finished()
    }

    /// Whether the app displays the notification.
    ///
    /// There is then no `notification`, because Android would display it in addition to the app's own.
    private var isDrawnByApp: Bool { presentation.display == .app && message.device.platform == .android }

    private func writeNotification(_ json: inout JSONBytes, _ title: String, _ body: String) {
        json.open("notification")
        json.add("title", title)
        if !body.isEmpty { json.add("body", body) }
        // For iOS, the image is in the platform's block, because FCM does not wake the app's extension automatically.
        if message.device.platform != .ios { json.add("image", imageURL) }
        json.close()
    }

    private var imageURL: String? { parts == .withoutDataAndImage ? nil : message.imageURL }

    private var secondsToLive: Int? { message.secondsToLive(from: now) }

    private func writeAndroid(_ json: inout JSONBytes) {
        json.open("android")
        // Data messages of normal priority wait until the phone next wakes.
        json.add("priority", plain: message.isPatient && !isDrawnByApp ? "NORMAL" : "HIGH")
        json.add("ttl", secondsToLive.map { "\($0)s" })
        if !isDrawnByApp { writeAndroidLooks(&json) }
        json.close()
    }

    private func writeAndroidLooks(_ json: inout JSONBytes) {
        json.open("notification")
        json.add("tag", message.replacementID)
        json.add("channel_id", presentation.channelID)
        if let visibility = presentation.visibility { json.add("visibility", plain: visibility.fcmName) }
        if let importance = presentation.importance { json.add("notification_priority", plain: importance.fcmName) }
        json.add("sound", presentation.sound)
        json.add("icon", presentation.icon)
        json.add("color", presentation.color)
        if let badge = message.shownBadge { json.add("notification_count", badge) }
        json.close()
    }

    private func writeApple(_ json: inout JSONBytes) {
        json.open("apns")
        json.open("headers")
        json.add("apns-collapse-id", message.replacementID)
        json.add("apns-expiration", message.expirySeconds.map(String.init))
        json.add("apns-priority", plain: message.isPatient ? "5" : "10")
        json.add("apns-push-type", plain: "alert")
        json.close()
        let keys = APSFields(message, withImage: parts != .withoutDataAndImage)
        if !keys.isEmpty {
            json.open("payload")
            json.open("aps")
            keys.write(into: &json)
            json.close()
            json.close()
        }
        if let imageURL {
            json.open("fcm_options")
            json.add("image", imageURL)
            json.close()
        }
        json.close()
    }

    private func writeWeb(_ json: inout JSONBytes) {
        json.open("webpush")
        json.open("headers")
        json.add("TTL", secondsToLive.map(String.init))
        json.add("Urgency", message.urgency.rawValue)
        json.add("Topic", message.pushTopic)
        json.close()
        json.open("notification")
        json.add("tag", message.replacementID)
        json.close()
        // FCM accepts no other link. A path of the web app is in the data, for the app's own service worker.
        if let link = message.link?.web, link.hasPrefix("https://") {
            json.open("fcm_options")
            json.add("link", link)
            json.close()
        }
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
