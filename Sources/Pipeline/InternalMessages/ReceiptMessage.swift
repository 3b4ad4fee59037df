import BellhopRules
import Store

/// Names deliveries whose receipts are due; all other data is in the database.
struct ReceiptMessage: Sendable, Equatable {
    let keys: [DeliveryKey]

    /// The maximum of deliveries in one message.
    static let limit = 500

    /// Divides any number of deliveries into messages.
    static func messages(for keys: [DeliveryKey]) -> [ReceiptMessage] {
        stride(from: 0, to: keys.count, by: limit).map { start in
            ReceiptMessage(keys: Array(keys[start..<min(start + limit, keys.count)]))
        }
    }

    /// Reads a body, or returns the reason why it is not readable here.
    static func read(_ body: [UInt8]) -> Result<ReceiptMessage, UnreadMessage> {
        guard let object = try? JSONParser(limits: .work).parse(body).get().object else { return .failure(.foreign) }
        if let newer = MessageVersion.beyond(object) { return .failure(.newer(newer)) }
        guard let entries = object["deliveries"]?.array, !entries.isEmpty, entries.count <= limit else {
            return .failure(.foreign)
        }
        let keys = entries.compactMap(DeliveryKey.init)
        return keys.count == entries.count ? .success(ReceiptMessage(keys: keys)) : .failure(.foreign)
    }

    var body: [UInt8] {
        let entries = keys.map { key in
            JSONValue.array([
                .string(key.notification.recipient.app.text), .string(key.notification.recipient.user.text),
                .string(key.notification.notification.text), .string(key.channel.rawValue), .string(key.target),
            ])
        }
        return JSONWriter.canonicalBytes(of: .object(JSONObject([("deliveries", .array(entries))])))
    }
}

extension DeliveryKey {
    fileprivate init?(_ value: JSONValue) {
        let parts = value.array?.compactMap(\.string) ?? []
        guard parts.count == 5, let app = AppID(validating: parts[0]), let user = UserID(validating: parts[1]),
            let id = NotificationID(validating: parts[2]), let channel = Channel(rawValue: parts[3])
        else { return nil }
        let recipient = UserKey(app: app, user: user)
        let notification = NotificationKey(recipient: recipient, notification: id)
        self.init(notification: notification, channel: channel, target: parts[4])
    }
}
