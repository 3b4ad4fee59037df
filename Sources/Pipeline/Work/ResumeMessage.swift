import AMQP
import BellhopRules
import Store

/// Names notifications that are owed something; everything else is in the database.
struct ResumeMessage: Sendable, Equatable {
    let keys: [NotificationKey]
    /// It takes the place of a message that had been handed out before: whoever held that one may have died between
    /// writing `retrying` and publishing the resume, so this may be the only one that brings what it names.
    var isHeir = false

    /// Notifications that a message names unless they belong together: one batch of the ledger.
    static let usual = 256
    /// Notifications that one message names at most.
    static let limit = 1024

    /// Packs any number of notifications into messages; those of one user stay together, since a digest may be among
    /// them, which two messages would bring in two parts.
    static func messages(for keys: [NotificationKey], areHeirs: Bool = false) -> [ResumeMessage] {
        let groups = Dictionary(grouping: keys, by: \.recipient)
        return messages(for: Array(groups.values)).map { ResumeMessage(keys: $0.keys, isHeir: areHeirs) }
    }

    /// Packs groups into messages without tearing a group apart, as far as a message may hold it.
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

    /// Nil where it is not one of ours.
    static func read(_ object: JSONObject) -> ResumeMessage? {
        guard case .array(let entries)? = object["notifications"], !entries.isEmpty, entries.count <= limit else {
            return nil
        }
        var keys: [NotificationKey] = []
        for entry in entries {
            guard let key = NotificationKey(entry) else { return nil }
            keys.append(key)
        }
        return ResumeMessage(keys: keys, isHeir: object["heir"] == .bool(true))
    }

    var body: [UInt8] {
        let entries = keys.map { key in
            JSONValue.array([
                .string(key.recipient.app.text), .string(key.recipient.user.text), .string(key.notification.text),
            ])
        }
        var object = JSONObject([("notifications", .array(entries))])
        if isHeir { object["heir"] = .bool(true) }
        return JSONWriter.canonicalBytes(of: .object(object))
    }
}

extension NotificationKey {
    fileprivate init?(_ value: JSONValue) {
        guard case .array(let parts) = value, parts.count == 3, case .string(let app) = parts[0],
            case .string(let user) = parts[1], case .string(let id) = parts[2], let app = AppID(validating: app),
            let user = UserID(validating: user), let id = NotificationID(validating: id)
        else { return nil }
        self.init(recipient: RecipientKey(app: app, user: user), notification: id)
    }
}
