import BellhopRules

/// The rules of the service that go beyond a message's form.
struct FCMMessageRules {
    /// The longest time to live in seconds: four weeks.
    static let longestTTL: Int64 = 2_419_200
    /// The maximum sizes in bytes of a message to a device and of a message to a topic.
    static let deviceBytes = 4_096
    static let topicBytes = 2_048

    private let message: FCMMessage
    private var violations: [FCMViolation] = []

    private init(_ message: FCMMessage) { self.message = message }

    /// Returns all violations except the size, which the service reports separately.
    static func violations(in message: FCMMessage) -> [FCMViolation] {
        var rules = FCMMessageRules(message)
        rules.checkTarget()
        rules.checkKeys(["data"])
        rules.checkKeys(["android", "data"])
        rules.checkAndroid()
        rules.checkApple()
        rules.checkWebPush()
        return rules.violations
    }

    private mutating func checkTarget() {
        let targets = ["token", "topic", "condition"].filter { message[$0] != nil }
        guard let target = targets.first else {
            return note("message", "Recipient of the message is not set.")
        }
        guard targets.count == 1 else {
            return note(
                "message",
                "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(targets[1])'"
            )
        }
        let text = message[target]?.string ?? ""
        switch target {
        case "token":
            guard text.isEmpty else { return }
            note("message.token", "Recipient of the message is not set.")
        case "topic":
            let name = text.hasPrefix("/topics/") ? text.dropFirst("/topics/".count) : text[...]
            let isName = !name.isEmpty && name.utf8.allSatisfy { Self.isTopicByte($0) }
            guard !isName else { return }
            note("message.topic", "Invalid topic name: it does not match [a-zA-Z0-9-_.~%]+")
        default:
            guard !text.contains("'") else { return }
            note("message.condition", "Invalid condition expression provided.")
        }
    }

    private mutating func checkKeys(_ way: [String]) {
        let data = way.reduce(JSONValue?.some(.object(message.root))) { FCMMessage.field($1, of: $0?.object) }
        let place = "message." + way.joined(separator: ".")
        for member in data?.object?.members ?? [] {
            let key = member.key
            let isReserved = key == "from" || key == "gcm" || key.hasPrefix("gcm.") || key.hasPrefix("google")
            guard isReserved || key.isEmpty || key == "message_type" else { continue }
            note("\(place).\(key)", "Invalid data payload key: \(key)")
        }
    }

    private mutating func checkAndroid() {
        if let text = message["android", "ttl"]?.string, let ttl = FCMDuration(text) {
            let isRight = (0...Self.longestTTL).contains(ttl.seconds)
            if !isRight { note("message.android.ttl", "Invalid TTL: it must be from 0s to \(Self.longestTTL)s") }
        }
        let notification = "message.android.notification"
        if let color = message["android", "notification", "color"]?.string, !Self.isColor(color) {
            note("\(notification).color", "Invalid color: it must be #rrggbb")
        }
        if let count = message["android", "notification", "notification_count"]?.number?.int64, count < 0 {
            note("\(notification).notification_count", "Invalid notification count: it must not be negative")
        }
        for key in ["body_loc", "title_loc"] where message["android", "notification", "\(key)_args"] != nil {
            guard message["android", "notification", "\(key)_key"] == nil else { continue }
            note("\(notification).\(key)_key", "\(key)_key is required where \(key)_args are given")
        }
    }

    private mutating func checkApple() {
        let headers = message["apns", "headers"]?.object?.members ?? []
        for member in headers where !Self.isAppleHeader(member.key.lowercased(), member.value.string ?? "") {
            note("message.apns.headers.\(member.key)", "Invalid value of the APNs header \(member.key)")
        }
        guard let payload = message["apns", "payload"]?.object else { return }
        guard let aps = payload["aps"] else { return }
        guard let aps = aps.object else {
            return note(
                "message.apns.payload.aps",
                "Invalid value for (aps) key in the APNS payload. Must be a dictionary."
            )
        }
        for fault in ApsRules.faults(in: aps) { note("message.apns.payload.aps", fault) }
    }

    private static func isAppleHeader(_ name: String, _ value: String) -> Bool {
        switch name {
        case "apns-priority": ["1", "5", "10"].contains(value)
        case "apns-expiration": APNsHeaderRules.isExpiration(value)
        case "apns-collapse-id": APNsHeaderRules.isCollapseID(value)
        case "apns-push-type": APNsHeaderRules.isPushType(value)
        case "apns-id": APNsHeaderRules.isUUID(value)
        case "apns-topic": !value.isEmpty
        default: false
        }
    }

    private mutating func checkWebPush() {
        if let link = message["webpush", "fcm_options", "link"]?.string, !link.hasPrefix("https://") {
            note("message.webpush.fcm_options.link", "Invalid link: it must be an HTTPS URL")
        }
        for member in message["webpush", "headers"]?.object?.members ?? [] {
            let value = member.value.string ?? ""
            let fault: String? =
                switch member.key.lowercased() {
                case "ttl" where !(0...Self.longestTTL).contains(Int64(value) ?? -1):
                    "Invalid TTL: it must be from 0 to \(Self.longestTTL)"
                case "urgency" where !["very-low", "low", "normal", "high"].contains(value):
                    "Invalid Urgency: it must be very-low, low, normal or high"
                case "topic" where !Self.isWebTopic(value):
                    "Invalid Topic: it must be at most 32 characters of base64url"
                default: nil
                }
            if let fault { note("message.webpush.headers.\(member.key)", fault) }
        }
    }

    private mutating func note(_ field: String, _ description: String) {
        violations.append(FCMViolation(field: field, description: description))
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        Character(UnicodeScalar(byte)).isLetter && byte < 0x80 || (0x30...0x39).contains(byte)
            || "-_.~%".utf8.contains(byte)
    }

    private static func isWebTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { isTopicByte($0) && !".~%".utf8.contains($0) }
    }

    private static func isColor(_ text: String) -> Bool {
        text.utf8.count == 7 && text.hasPrefix("#") && text.dropFirst().allSatisfy(\.isHexDigit)
    }
}
