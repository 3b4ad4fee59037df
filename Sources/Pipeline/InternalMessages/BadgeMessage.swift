import BellhopRules
import Store

/// Names users whose devices must receive their number of unread notifications.
struct BadgeMessage: Sendable, Equatable {
    let recipients: [UserKey]

    /// The maximum of users in one message.
    static let limit = 256

    /// Reads a message; `nil` if it is not a badge message.
    static func read(_ object: JSONObject) -> BadgeMessage? {
        guard case .array(let entries)? = object["badges"], !entries.isEmpty, entries.count <= limit else { return nil }
        var recipients: [UserKey] = []
        for entry in entries {
            guard case .array(let parts) = entry, parts.count == 2, let app = parts[0].string,
                let user = parts[1].string,
                let app = AppID(validating: app), let user = UserID(validating: user)
            else { return nil }
            recipients.append(UserKey(app: app, user: user))
        }
        return BadgeMessage(recipients: recipients)
    }

    var body: [UInt8] {
        let entries = recipients.map { JSONValue.array([.string($0.app.text), .string($0.user.text)]) }
        return JSONWriter.canonicalBytes(of: .object(JSONObject([("badges", .array(entries))])))
    }
}
