import AMQP
import BellhopRules
import Store

/// Names notifications with open deliveries; all other data is in the database.
struct ResumeMessage: Sendable, Equatable {
    let keys: [NotificationKey]
    /// Whether it replaces a message that was delivered before.
    ///
    /// The worker that held that message may have died between the write of `retrying` and the publication of the
    /// resume. This may therefore be the only message for its notifications.
    var replacesEarlier = false

    /// The usual maximum of notifications in a message, if they are independent: one batch of the ledger.
    static let usual = 256
    /// The maximum of notifications in one message.
    static let limit = 1024

    /// Packs any number of notifications into messages.
    ///
    /// A user's notifications stay together, because a digest may be among them, and two messages would split it.
    static func messages(for keys: [NotificationKey], replacingEarlier: Bool = false) -> [ResumeMessage] {
        let groups = Dictionary(grouping: keys, by: \.recipient)
        return messages(for: Array(groups.values)).map {
            ResumeMessage(keys: $0.keys, replacesEarlier: replacingEarlier)
        }
    }

    /// Packs groups into messages without splitting a group, up to the limit of a message.
    static func messages(for groups: [[NotificationKey]]) -> [ResumeMessage] {
        var messages: [ResumeMessage] = []
        var gathered: [NotificationKey] = []
        for group in groups {
            if !gathered.isEmpty, gathered.count + group.count > usual {
                messages += split(gathered, by: limit)
                gathered = []
            }
            gathered += group
        }
        return messages + split(gathered, by: limit)
    }

    private static func split(_ keys: [NotificationKey], by size: Int) -> [ResumeMessage] {
        stride(from: 0, to: keys.count, by: size).map { start in
            ResumeMessage(keys: Array(keys[start..<min(start + size, keys.count)]))
        }
    }

    /// Reads a message; `nil` if it is not a resume message.
    static func read(_ object: JSONObject) -> ResumeMessage? {
        guard case .array(let entries)? = object["notifications"], !entries.isEmpty, entries.count <= limit else {
            return nil
        }
        var keys: [NotificationKey] = []
        for entry in entries {
            guard let key = NotificationKey(entry) else { return nil }
            keys.append(key)
        }
        return ResumeMessage(keys: keys, replacesEarlier: object["heir"] == .bool(true))
    }

    var body: [UInt8] {
        let entries = keys.map { key in
            JSONValue.array([
                .string(key.recipient.app.text), .string(key.recipient.user.text), .string(key.notification.text),
            ])
        }
        var object = JSONObject([("notifications", .array(entries))])
        if replacesEarlier { object["heir"] = .bool(true) }
        return JSONWriter.canonicalBytes(of: .object(object))
    }
}

extension NotificationKey {
    fileprivate init?(_ value: JSONValue) {
        guard case .array(let parts) = value, parts.count == 3, case .string(let app) = parts[0],
            case .string(let user) = parts[1], case .string(let id) = parts[2], let app = AppID(validating: app),
            let user = UserID(validating: user), let id = NotificationID(validating: id)
        else { return nil }
        self.init(recipient: UserKey(app: app, user: user), notification: id)
    }
}
