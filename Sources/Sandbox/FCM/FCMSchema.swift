/// Every field of `messages:send`, version 1.
enum FCMSchema {
    static let request = FCMMessageType([
        "validate_only": .flag,
        "message": .message(message),
    ])

    private static let message = FCMMessageType([
        "name": .text,
        "token": .text,
        "topic": .text,
        "condition": .text,
        "data": .texts,
        "notification": .message(FCMMessageType(["title": .text, "body": .text, "image": .text])),
        "android": .message(android),
        "apns": .message(apns),
        "webpush": .message(webPush),
        "fcm_options": .message(FCMMessageType(["analytics_label": .text])),
    ])

    private static let android = FCMMessageType([
        "collapse_key": .text,
        "priority": .choice(
            type: "type.googleapis.com/google.firebase.fcm.v1.AndroidConfig.AndroidMessagePriority",
            ["NORMAL", "HIGH"],
            lowerCaseToo: true
        ),
        "ttl": .duration,
        "restricted_package_name": .text,
        "data": .texts,
        "notification": .message(androidNotification),
        "fcm_options": .message(FCMMessageType(["analytics_label": .text])),
        "direct_boot_ok": .flag,
    ])

    private static let androidNotification = FCMMessageType([
        "title": .text, "body": .text, "icon": .text, "color": .text, "sound": .text, "tag": .text,
        "click_action": .text, "channel_id": .text, "ticker": .text, "image": .text,
        "body_loc_key": .text, "body_loc_args": .list(.text), "title_loc_key": .text, "title_loc_args": .list(.text),
        "sticky": .flag, "local_only": .flag, "default_sound": .flag, "default_vibrate_timings": .flag,
        "default_light_settings": .flag,
        "event_time": .timestamp,
        "vibrate_timings": .list(.duration),
        "notification_count": .whole,
        "notification_priority": .choice(
            type: "type.googleapis.com/google.firebase.fcm.v1.AndroidNotification.NotificationPriority",
            [
                "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                "PRIORITY_MAX",
            ],
            lowerCaseToo: false
        ),
        "visibility": .choice(
            type: "type.googleapis.com/google.firebase.fcm.v1.AndroidNotification.Visibility",
            ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"],
            lowerCaseToo: false
        ),
        "proxy": .choice(
            type: "type.googleapis.com/google.firebase.fcm.v1.AndroidNotification.Proxy",
            ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"],
            lowerCaseToo: false
        ),
        "light_settings": .message(
            FCMMessageType([
                "color": .message(
                    FCMMessageType(["red": .number, "green": .number, "blue": .number, "alpha": .number])
                ),
                "light_on_duration": .duration,
                "light_off_duration": .duration,
            ])
        ),
    ])

    private static let apns = FCMMessageType([
        "headers": .texts,
        "payload": .object,
        "live_activity_token": .text,
        "fcm_options": .message(FCMMessageType(["analytics_label": .text, "image": .text])),
    ])

    private static let webPush = FCMMessageType([
        "headers": .texts,
        "data": .texts,
        "notification": .object,
        "fcm_options": .message(FCMMessageType(["link": .text, "analytics_label": .text])),
    ])
}

/// The type of a message's field, in the JSON form of protocol buffers.
indirect enum FCMFieldKind: Sendable {
    case text
    case flag
    case whole
    case number
    /// A string such as `3600s` or `1.5s`.
    case duration
    /// A string in the format of RFC 3339.
    case timestamp
    /// One of the names; `lowerCaseToo` if the service also accepts them in lower case.
    case choice(type: String, Set<String>, lowerCaseToo: Bool)
    /// An object of strings.
    case texts
    case list(FCMFieldKind)
    case message(FCMMessageType)
    /// Any object.
    case object
}

/// The fields of one kind of message; an unknown name is rejected.
struct FCMMessageType: Sendable {
    private let fields: [String: FCMFieldKind]

    init(_ fields: [String: FCMFieldKind]) { self.fields = fields }

    /// Returns the field of a name in its documented form, `collapse_key`, or in its JSON form, `collapseKey`.
    func field(_ name: String) -> (name: String, kind: FCMFieldKind)? {
        if let kind = fields[name] { return (name, kind) }
        let documented = Self.documentedName(name)
        return fields[documented].map { (documented, $0) }
    }

    private static func documentedName(_ name: String) -> String {
        var documented = ""
        for character in name {
            if character.isUppercase { documented.append("_") }
            documented.append(contentsOf: character.lowercased())
        }
        return documented
    }
}
