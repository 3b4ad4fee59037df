import BellhopRules
import Store

/// The messages of the resume queues: internal work that names rows in the database.
enum InternalMessage: Sendable, Equatable {
    case resume(ResumeMessage)
    case badges(BadgeMessage)
    case page(FanoutPage)

    /// Reads a body, or returns the reason why it is not readable here.
    static func read(_ body: [UInt8]) -> Result<InternalMessage, UnreadMessage> {
        guard case .success(.object(let object)) = JSONParser(limits: .work).parse(body) else {
            return .failure(.foreign)
        }
        if let newer = MessageVersion.beyond(object) { return .failure(.newer(newer)) }
        let message =
            ResumeMessage.read(object).map(resume) ?? BadgeMessage.read(object).map(badges)
            ?? PageMessage.read(object).map(page)
        return message.map(Result.success) ?? .failure(.foreign)
    }
}

/// The format version of messages between Bellhop's programs: resumes, badges, pages, receipts.
///
/// A reader ignores unknown members, so an optional member needs no new version. A release that requires a new format
/// first reads it, and only the next release writes it, because old and new releases run alongside one another in
/// between.
package enum MessageVersion {
    /// The newest version that this program reads.
    ///
    /// It also writes this version: the first one, which carries no number.
    package static let newest = 1

    /// Returns the version that a message states, if it is newer than the readable ones.
    static func beyond(_ object: JSONObject) -> String? {
        guard let version = object["version"], version != .null else { return nil }
        if let number = version.number?.int64, number <= newest { return nil }
        return version.number?.text ?? "?"
    }
}

/// The reason why an internal message could not be read.
enum UnreadMessage: Error, Equatable {
    /// Bellhop did not write it.
    case foreign
    /// It has this newer version, which a newer release writes.
    case newer(String)

    /// Returns the cause of its dead letter.
    ///
    /// A replay sends it to a program that can read it.
    func cause(at stage: DeadLetterCause.Stage, called name: String) -> DeadLetterCause {
        switch self {
        case .foreign:
            DeadLetterCause(stage, reason: RejectionReason.malformedJSON.rawValue, error: "not a \(name) message")
        case .newer(let version):
            DeadLetterCause(
                stage,
                reason: DeadLetterCause.newerMessage,
                error: "a \(name) message of form \(version.prefix(20)); "
                    + "this release reads up to \(MessageVersion.newest)"
            )
        }
    }
}

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

/// Names a page of a fan-out; all other data is in the database.
enum PageMessage {
    /// Reads a message; `nil` if it is not a page message.
    static func read(_ object: JSONObject) -> FanoutPage? {
        guard let fanout = object["fanout"]?.number?.int64, let page = object["page"]?.number?.int64, fanout > 0,
            page >= 0,
            let priority = object["priority"]?.string.flatMap(Priority.init(rawValue:))
        else { return nil }
        return FanoutPage(fanout: fanout, page: page, priority: priority)
    }

    static func body(_ page: FanoutPage) -> [UInt8] {
        let object = JSONObject([
            ("fanout", .number(JSONNumber(page.fanout))), ("page", .number(JSONNumber(page.page))),
            ("priority", .string(page.priority.rawValue)),
        ])
        return JSONWriter.canonicalBytes(of: .object(object))
    }
}

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
