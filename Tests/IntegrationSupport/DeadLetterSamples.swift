package import BellhopRules
import Foundation
package import Store

/// Dead letters as the dead-letter filer reads them, for tests of the later steps.
package enum DeadLetterSamples {
    /// Returns the dead letter of a rejected message.
    package static func rejected(
        _ id: String,
        reason: String = "malformed-json",
        app: String? = "drop",
        user: String? = nil,
        error: String = "expected a value",
        failedAt: Timestamp? = nil,
        body: String = "{"
    ) -> DeadLetterItem {
        var cause = DeadLetterCause(.intake, reason: reason, error: error)
        cause.app = app
        cause.eventType = "system"
        cause.user = user
        return DeadLetterItem(
            id,
            cause,
            failedAt: failedAt ?? now,
            origin: .init(
                exchange: "bellhop.events",
                routingKey: "drop.system",
                properties: Array(#"{"contentType":"application/json"}"#.utf8),
                headers: Array(#"{"tenant":"blue"}"#.utf8),
                body: Array(body.utf8)
            ),
            contentHash: Array(id.utf8)
        )
    }

    /// Returns the dead letter of a delivery that was given up.
    ///
    /// A replay requires its row in the ledger.
    package static func delivery(
        _ key: DeliveryKey,
        event: String = "e1",
        attempts: Int = 2,
        reason: String = "attempts-exhausted",
        failedAt: Timestamp? = nil
    ) -> DeadLetterItem {
        let notification = key.notification
        var cause = DeadLetterCause(.dispatch, reason: reason, error: "fcm said UNAVAILABLE")
        cause.provider = "fcm"
        cause.app = notification.recipient.app.text
        cause.eventType = "system"
        cause.eventID = event
        cause.user = notification.recipient.user.text
        var item = DeadLetterItem(
            "\(notification.notification.text)-\(key.target)-\(attempts)",
            cause,
            failedAt: failedAt ?? now,
            origin: .init(
                exchange: "",
                routingKey: "delivery",
                properties: Array("{}".utf8),
                headers: Array("{}".utf8),
                body: []
            ),
            contentHash: []
        )
        item.attempts = attempts
        item.delivery = key
        return item
    }

    /// Returns the key of a push to one device.
    package static func key(user: String, event: String = "e1", target: String = "sub_0000000000000001") throws
        -> DeliveryKey
    {
        guard let app = AppID(validating: "drop"), let user = UserID(validating: user),
            let event = EventID(validating: event)
        else { throw ServerFixtureError("not an identifier") }
        let notification = NotificationKey(
            recipient: UserKey(app: app, user: user),
            notification: NotificationID(app: app, event: event, user: user)
        )
        return DeliveryKey(notification: notification, channel: .push, target: target)
    }

    package static var now: Timestamp { Timestamp(clamping: Int64(Date().timeIntervalSince1970 * 1_000_000)) }

    /// Returns the time `seconds` ago.
    package static func ago(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: now.microseconds - seconds * 1_000_000)
    }
}
