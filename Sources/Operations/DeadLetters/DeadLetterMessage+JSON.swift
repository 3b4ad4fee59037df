package import BellhopJSON
import BellhopRules
import Foundation
package import Store

/// One line of an export: an item with everything that a replay needs, including personal data.
///
/// Bodies are Base64, since a rejected body may contain any bytes.
extension DeadLetterMessage {
    /// The members that a list shows.
    ///
    /// They exclude the message and therefore all personal data.
    package var listed: [(String, JSONValue)] {
        summary.members + [("exchange", .string(origin.exchange)), ("routingKey", .string(origin.routingKey))]
    }

    package var json: JSONValue {
        .members(
            listed + [
                ("properties", Self.json(origin.properties)), ("headers", Self.json(origin.headers)),
                ("body", Self.base64(origin.body)), ("contentHash", Self.base64(contentHash)),
            ]
        )
    }

    /// Parses a line of an export.
    ///
    /// Returns `nil` if the line does not come from an export.
    package init?(parsing line: [UInt8]) {
        guard case .success(.object(let object)) = JSONParser(limits: Self.limits).parse(line),
            let id = object["id"]?.string, object["stage"]?.string != nil, object["reason"]?.string != nil,
            object["error"]?.string != nil, let exchange = object["exchange"]?.string,
            let routingKey = object["routingKey"]?.string, let body = Self.bytes(object["body"]),
            let hash = Self.bytes(object["contentHash"]), let failedAt = Self.instant(object["lastFailedAt"]),
            let properties = object["properties"]?.object, let headers = object["headers"]?.object,
            let state = object["state"]?.string.flatMap(DeadLetterState.init(rawValue:))
        else { return nil }
        let origin = DeadLetterItem.Origin(
            exchange: exchange,
            routingKey: routingKey,
            properties: JSONWriter.canonicalBytes(of: .object(properties)),
            headers: JSONWriter.canonicalBytes(of: .object(headers)),
            body: body
        )
        let cause = DeadLetterCause { object[$0.rawValue]?.string }
        var item = DeadLetterItem(id, cause, failedAt: failedAt, origin: origin, contentHash: hash)
        item.attempts = Self.count(object["attempts"]) ?? 1
        item.delivery = DeliveryKey(
            cause.app,
            cause.user,
            object["notificationId"]?.string,
            object["channel"]?.string,
            object["target"]?.string
        )
        self.init(item)
        summary.state = state
        // An export counts no death of a corrected copy that has not failed; the table counts its submission.
        summary.deaths = max(1, Self.count(object["deaths"]) ?? 1)
        summary.replays = Self.count(object["replays"]) ?? 0
        summary.firstFailedAt = Self.instant(object["firstFailedAt"]) ?? failedAt
        summary.resolution = object["resolution"]?.string
    }

    /// Enough for the largest body that is stored whole and its headers, in Base64 and JSON.
    private static let limits = JSONParser.Limits(bytes: 32 << 20, depth: 128)

    private static func json(_ bytes: [UInt8]) -> JSONValue {
        (try? JSONParser(limits: limits).parse(bytes).get()) ?? .members([])
    }

    private static func base64(_ bytes: [UInt8]) -> JSONValue {
        .string(Data(bytes).base64EncodedString())
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
