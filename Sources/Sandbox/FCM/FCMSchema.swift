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
