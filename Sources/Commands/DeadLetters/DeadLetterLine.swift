import BellhopRules
import Foundation
import Store

/// One line of an export: an item with everything that a replay needs, personal data included.
///
/// Bodies are Base64, since a rejected one may be anything.
struct DeadLetterLine {
    private(set) var letter: ImportedLetter

    /// From the table.
    init(_ message: DeadLetterMessage) {
        let summary = message.summary
        var item = DeadLetterItem(
            deadID: summary.deadID,
            stage: summary.stage,
            reason: summary.reason,
            pointer: summary.pointer,
            error: summary.error,
            provider: summary.provider,
            app: summary.app,
            eventType: summary.eventType,
            eventID: summary.eventID,
            user: summary.user,
            attempts: summary.attempts,
            failedAt: summary.lastFailedAt,
            origin: message.origin,
            redelivered: false,
            contentHash: message.contentHash
        )
        item.delivery = summary.delivery
        letter = ImportedLetter(item)
        letter.state = summary.state
        letter.deaths = summary.deaths
        letter.replays = summary.replays
        letter.firstFailedAt = summary.firstFailedAt
        letter.resolution = summary.resolution
    }

    /// From the broker's queue.
    init(_ item: DeadLetterItem) {
        letter = ImportedLetter(item)
        guard let replay = item.replay else { return }
        letter.item.deadID = replay.item
        letter.item.replay = nil
        letter.deaths = replay.round + 1
        letter.replays = replay.round
    }

    var json: JSONText {
        let item = letter.item
        return .object([
            ("id", .text(item.deadID)), ("state", .text(letter.state.rawValue)), ("stage", .text(item.stage)),
            ("reason", .text(item.reason)), ("pointer", .optional(item.pointer)), ("error", .text(item.error)),
            ("provider", .optional(item.provider)), ("app", .optional(item.app)),
            ("eventType", .optional(item.eventType)), ("eventId", .optional(item.eventID)),
            ("user", .optional(item.user)),
            ("notificationId", .optional(item.delivery?.notification.notification.text)),
            ("channel", .optional(item.delivery?.channel.rawValue)), ("target", .optional(item.delivery?.target)),
            ("attempts", .number(item.attempts)), ("deaths", .number(letter.deaths)),
            ("replays", .number(letter.replays)), ("resolution", .optional(letter.resolution)),
            ("firstFailedAt", .text(letter.firstFailedAt.description)),
            ("lastFailedAt", .text(item.failedAt.description)), ("exchange", .text(item.origin.exchange)),
            ("routingKey", .text(item.origin.routingKey)), ("properties", Self.json(item.origin.properties)),
            ("headers", Self.json(item.origin.headers)), ("body", Self.base64(item.origin.body)),
            ("contentHash", Self.base64(item.contentHash)),
        ])
    }

    /// What a list shows: no message, and so nothing personal in it.
    var listed: [(String, JSONText)] {
        guard case .object(let members) = json else { return [] }
        let withheld: Set<String> = ["properties", "headers", "body", "contentHash"]
        return members.filter { !withheld.contains($0.0) }
    }

    /// Nil where the line is none of an export.
    init?(parsing line: [UInt8]) {
        guard case .success(.object(let object)) = JSONParser(limits: Self.limits).parse(line),
            let id = object["id"]?.string, let stage = object["stage"]?.string, let reason = object["reason"]?.string,
            let error = object["error"]?.string, let exchange = object["exchange"]?.string,
            let routingKey = object["routingKey"]?.string, let body = Self.bytes(object["body"]),
            let hash = Self.bytes(object["contentHash"]), let failedAt = Self.instant(object["lastFailedAt"]),
            let properties = object["properties"]?.object, let headers = object["headers"]?.object,
            let state = object["state"]?.string.flatMap(DeadLetterState.init(rawValue:))
        else { return nil }
        var item = DeadLetterItem(
            deadID: id,
            stage: stage,
            reason: reason,
            pointer: object["pointer"]?.string,
            error: error,
            provider: object["provider"]?.string,
            app: object["app"]?.string,
            eventType: object["eventType"]?.string,
            eventID: object["eventId"]?.string,
            user: object["user"]?.string,
            attempts: Self.count(object["attempts"]) ?? 1,
            failedAt: failedAt,
            origin: .init(
                exchange: exchange,
                routingKey: routingKey,
                properties: JSONWriter.canonicalBytes(of: .object(properties)),
                headers: JSONWriter.canonicalBytes(of: .object(headers)),
                body: body
            ),
            redelivered: false,
            contentHash: hash
        )
        item.delivery = Self.delivery(object)
        letter = ImportedLetter(item)
        letter.state = state
        letter.deaths = Self.count(object["deaths"]) ?? 1
        letter.replays = Self.count(object["replays"]) ?? 0
        letter.firstFailedAt = Self.instant(object["firstFailedAt"]) ?? failedAt
        letter.resolution = object["resolution"]?.string
    }

    /// The largest body that is filed whole and its headers, in Base64 and JSON.
    private static let limits = JSONParser.Limits(bytes: 32 << 20, depth: 128)

    private static func delivery(_ object: JSONObject) -> DeliveryKey? {
        guard let app = object["app"]?.string.flatMap(AppID.init(validating:)),
            let user = object["user"]?.string.flatMap(UserID.init(validating:)),
            let id = object["notificationId"]?.string.flatMap(NotificationID.init(validating:)),
            let channel = object["channel"]?.string.flatMap(Channel.init(rawValue:)),
            let target = object["target"]?.string
        else { return nil }
        let key = NotificationKey(recipient: RecipientKey(app: app, user: user), notification: id)
        return DeliveryKey(notification: key, channel: channel, target: target)
    }

    private static func json(_ bytes: [UInt8]) -> JSONText {
        (try? JSONParser(limits: limits).parse(bytes).get()).map { JSONText($0) } ?? .object([])
    }

    private static func base64(_ bytes: [UInt8]) -> JSONText {
        .text(Data(bytes).base64EncodedString())
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    }

    private static func instant(_ value: JSONValue?) -> Timestamp? {
        value?.string.flatMap(Timestamp.init(validating:))
    }

    private static func count(_ value: JSONValue?) -> Int? {
        value?.number?.int64.map { Int(Int32(clamping: max(0, $0))) }
    }
}
