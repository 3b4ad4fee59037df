import BellhopRules
import Cryptography
import Push
import Testing

/// Browsers and keys for tests.
enum Browsers {
    /// The public key of RFC 8291, appendix A.
    static let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    static func subscription(point: String = point, keyID: String? = nil) -> JSONObject {
        var subscription: JSONObject = [
            "endpoint": "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "keys": ["p256dh": .string(point), "auth": .string(secret)],
        ]
        subscription["vapidKeyID"] = keyID.map(JSONValue.string)
        return subscription
    }

    static func keys(point: String = point, keyID: String? = nil) throws -> WebPushKeys {
        try #require(WebPushKeys(subscription: subscription(point: point, keyID: keyID)))
    }

    static func message(
        _ endpoint: String = "https://updates.push.services.mozilla.com/wpush/v2/abc",
        keyID: String? = nil,
        notification: UInt64 = 0xAB
    ) throws -> PushMessage {
        var message = try SamplePushes.plain(.web, token: endpoint, notification: notification)
        message.device.provider = .webpush
        message.device.webPushKeys = try keys(keyID: keyID)
        return message
    }

    /// Returns the message with every optional member, for a browser.
    static func full() throws -> PushMessage {
        var message = try SamplePushes.full(.web)
        message.device.provider = .webpush
        message.device.webPushKeys = try keys()
        return message
    }

    /// Returns the message to the subscription with this JSON.
    static func message(to subscription: JSONObject, notification: UInt64 = 0xAB) throws -> PushMessage {
        let endpoint = try #require(subscription["endpoint"]?.string)
        var message = try message(endpoint, notification: notification)
        let keys = try #require(WebPushKeys(subscription: subscription))
        message.device.webPushKeys = keys
        return message
    }
}
