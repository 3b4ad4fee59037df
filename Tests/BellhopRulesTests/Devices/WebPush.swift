import BellhopRules

/// A browser's valid subscription, for tests to change.
enum WebPush {
    static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"

    /// The keys of RFC 8291, appendix A.
    private static let keys: JSONObject = [
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    ]

    static func subscription(
        beside: JSONObject = [:],
        _ change: (inout JSONObject) -> Void = { _ in }
    ) -> JSONObject {
        var keys = keys
        change(&keys)
        var subscription: JSONObject = [
            "endpoint": .string(endpoint), "expirationTime": .null, "keys": .object(keys),
        ]
        for member in beside.members { subscription[member.key] = member.value }
        return subscription
    }

    /// Returns the parts of it that are kept.
    static func kept() -> JSONObject { ["endpoint": .string(endpoint), "keys": .object(keys)] }

    static func text(_ subscription: JSONObject = subscription()) -> String {
        String(decoding: JSONWriter.canonicalBytes(of: .object(subscription)), as: UTF8.self)
    }
}
