package import BellhopRules
import Foundation
package import Store

/// Dead letters as the clerk reads them, for tests of what comes after.
package enum Letters {
    /// A message that was rejected.
    package static func rejected(
        _ id: String,
        reason: String = "malformed-json",
        app: String? = "drop",
        user: String? = nil,
        error: String = "expected a value",
        failedAt: Timestamp? = nil,
        body: String = "{"
    ) -> DeadLetterItem {
        DeadLetterItem(
            deadID: id,
            stage: "intake",
            reason: reason,
            error: error,
            app: app,
            eventType: "system",
            user: user,
            attempts: 1,
            failedAt: failedAt ?? now,
            origin: .init(
                exchange: "bellhop.events",
                routingKey: "drop.system",
                properties: Array(#"{"contentType":"application/json"}"#.utf8),
                headers: Array(#"{"tenant":"blue"}"#.utf8),
                body: Array(body.utf8)
            ),
            redelivered: false,
            contentHash: Array(id.utf8)
        )
    }

    /// A delivery that was given up; its line in the ledger has to be there for a replay.
    package static func delivery(
        _ key: DeliveryKey,
        event: String = "e1",
        attempts: Int = 2,
        reason: String = "attempts-exhausted",
        failedAt: Timestamp? = nil
    ) -> DeadLetterItem {
        let notification = key.notification
        var item = DeadLetterItem(
            deadID: "\(notification.notification.text)-\(key.target)-\(attempts)",
            stage: "dispatch",
            reason: reason,
            error: "fcm said UNAVAILABLE",
            provider: "fcm",
            app: notification.recipient.app.text,
            eventType: "system",
            eventID: event,
            user: notification.recipient.user.text,
            attempts: attempts,
            failedAt: failedAt ?? now,
            origin: .init(
                exchange: "",
                routingKey: "delivery",
                properties: Array("{}".utf8),
                headers: Array("{}".utf8),
                body: []
            ),
            redelivered: false,
            contentHash: []
        )
        item.delivery = key
        return item
    }

    /// The key of a push to one device.
    package static func key(user: String, event: String = "e1", target: String = "sub_1") throws -> DeliveryKey {
        guard let app = AppID(validating: "drop"), let user = UserID(validating: user),
            let event = EventID(validating: event)
        else { throw BenchError("not an identifier") }
        let notification = NotificationKey(
            recipient: RecipientKey(app: app, user: user),
            notification: NotificationID(app: app, event: event, user: user)
        )
        return DeliveryKey(notification: notification, channel: .push, target: target)
    }

    package static var now: Timestamp { Timestamp(clamping: Int64(Date().timeIntervalSince1970 * 1_000_000)) }

    /// So long ago.
    package static func ago(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: now.microseconds - seconds * 1_000_000)
    }
}
