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
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, words in
            FCMBody(message: message, now: now, parts: parts).bytes(words)
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
        presentation = message.android
    }

    func bytes(_ words: PushWords) -> [UInt8] {
        var json = JSONBytes(capacity: 1024)
        json.open("message")
        json.add("token", message.token)
        if !isDrawnByApp { writeNotification(&json, words) }
        json.open("data")
        var data = ClientData(message: message, form: .texts)
        if isDrawnByApp {
            data.hasImage = hasImage
            data.drawing = DisplayFields(words: words)
        }
        let most = FCMRequest.limit + words.mostBytes
        data.write(into: &json, withOwnData: parts == .everything, atMost: most)
        json.close()
        switch message.platform {
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
    private var isDrawnByApp: Bool { presentation.display == .app && message.platform == .android }

    private func writeNotification(_ json: inout JSONBytes, _ words: PushWords) {
        json.open("notification")
        words.addTitle(to: &json)
        if words.hasBody { words.addBody(to: &json) }
        // For iOS, the image is in the platform's block, because FCM does not wake the app's extension automatically.
        if hasImage, message.platform != .ios { json.add("image", .imageURL, of: message.texts) }
        json.close()
    }

    private var hasImage: Bool { parts != .withoutDataAndImage && message.texts.has(.imageURL) }

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
        if hasImage {
            json.open("fcm_options")
            json.add("image", .imageURL, of: message.texts)
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
        if message.texts.with(.webLink, { $0?.starts(with: "https://".utf8) ?? false }) {
            json.open("fcm_options")
            json.add("link", .webLink, of: message.texts)
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
        json.add("token", message.token)
        if message.platform == .ios { writeApple(&json) } else { writeAndroid(&json) }
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
    var platformShowsBadges: Bool { platform != .web }
}
