import Foundation

/// A message from a broker or a file before parsing; independent of the transport.
public struct InboundEnvelope: Sendable {
    /// The origin of the message, which decides whether its routing key can be trusted.
    public enum Source: Hashable, Sendable {
        /// The events exchange.
        ///
        /// The broker has applied its permissions to the routing key, so the key counts as a statement about the
        /// message.
        case eventsExchange(routingKey: String)
        /// Any other origin, such as direct publishing to a lane's queue or a file.
        ///
        /// Only the body and the properties count.
        case elsewhere
    }

    /// The published bytes, or their beginning.
    public var body: [UInt8]
    /// The number of published bytes if `body` does not contain all of them.
    public var publishedBytes: Int?
    /// The maximum number of bytes.
    ///
    /// The limit is higher than a producer's for stored events, because their bodies contain every name.
    public var limit = JSONParser.Limits.event.bytes
    /// The origin of the message.
    public var source: Source
    /// The property `content_type`.
    public var contentType: String?
    /// The property `message_id`.
    public var messageID: String?
    /// The property `app_id`.
    public var appID: String?
    /// The property `type`.
    public var type: String?
    /// The property `timestamp`, in seconds since 1970.
    public var timestamp: UInt64?
    /// The headers in their order.
    public var headers: [(name: String, value: HeaderValue)]

    /// Creates an envelope without properties.
    public init(body: [UInt8], source: Source) {
        self.body = body
        self.source = source
        headers = []
    }
}

/// The value of a header, in the detail that the rules need.
public enum HeaderValue: Hashable, Sendable {
    /// Text.
    case string(String)
    /// A whole number of any width.
    case integer(Int64)
    /// Any other value: a table, an array, a floating-point number, or bytes that are not text.
    case other
}

/// A message whose form has been parsed: its fields, their place in the body, and the additions of its envelope.
struct InboundMessage {
    /// The members of the event or update.
    let fields: JSONObject
    /// The place of the members in the body.
    let base: JSONPointer
    /// The attributes of CloudEvents; present in both of its forms.
    let cloudEvent: CloudEventAttributes?

    /// Parses the body of an envelope.
    ///
    /// `document` receives the body's object as soon as there is one, so that a rejected message can still be stored
    /// under its names.
    ///
    /// Content types other than JSON and CloudEvents are read as plain JSON. Many clients send
    /// `application/octet-stream` or `text/plain` by default, and the body itself shows its form. Only other
    /// CloudEvents formats are rejected by their name.
    init(_ envelope: InboundEnvelope, document: inout JSONObject?) throws(FieldFault) {
        let limit = envelope.limit
        let bytes = max(envelope.body.count, envelope.publishedBytes ?? 0)
        guard bytes <= limit else {
            throw FieldFault(.tooLarge, at: .root, "the body has \(bytes) bytes, the limit is \(limit)")
        }
        switch try ContentForm(envelope.contentType) {
        case .structured: try self.init(structured: envelope.body, document: &document)
        case .plain: try self.init(plain: envelope, document: &document)
        }
    }

    /// Creates the message in Bellhop's form that a mapping has made of another application's message.
    init(converted fields: JSONObject, cloudEvent: CloudEventAttributes?) {
        self.fields = fields
        self.cloudEvent = cloudEvent
        base = .root
    }

    private init(plain envelope: InboundEnvelope, document: inout JSONObject?) throws(FieldFault) {
        base = .root
        if envelope.headers.isEmpty {
            cloudEvent = nil
        } else {
            cloudEvent = try CloudEventAttributes(headers: envelope.headers)
        }
        guard cloudEvent == nil || !envelope.body.isEmpty else {
            fields = JSONObject()
            return
        }
        fields = try Self.object(
            envelope.body,
            .init(bytes: envelope.limit, depth: JSONParser.Limits.event.depth),
            at: .root,
            &document
        )
    }

    private init(structured body: [UInt8], document: inout JSONObject?) throws(FieldFault) {
        // One level more than a plain body may have, for the level that CloudEvents adds.
        let limits = JSONParser.Limits(bytes: JSONParser.Limits.event.bytes, depth: JSONParser.Limits.event.depth + 1)
        let event = try Self.object(body, limits, at: .root, &document)
        cloudEvent = try CloudEventAttributes(document: event)
        let place = JSONPointer.root.key("data")
        switch (event["data"] ?? .null, event["data_base64"] ?? .null) {
        case (.null, .null):
            fields = JSONObject()
            base = place
        case (let data, .null):
            fields = try Self.object(data, at: place)
            base = place
        case (.null, let data):
            base = JSONPointer.root.key("data_base64")
            guard case .string(let text) = data, let decoded = Foundation.Data(base64Encoded: text) else {
                throw FieldFault(at: base, expected: "a string in base64", found: data)
            }
            var inner: JSONObject?
            fields = try Self.object([UInt8](decoded), .event, at: base, &inner)
        default:
            throw FieldFault(.invalidField, at: place, "data and data_base64 exclude one another")
        }
    }

    private static func object(_ value: JSONValue, at place: JSONPointer) throws(FieldFault) -> JSONObject {
        guard case .object(let object) = value else { throw FieldFault(at: place, expected: "an object", found: value) }
        return object
    }

    static func object(
        _ bytes: [UInt8],
        _ limits: JSONParser.Limits,
        at place: JSONPointer,
        _ document: inout JSONObject?
    ) throws(FieldFault) -> JSONObject {
        let parser = JSONParser(limits: limits)
        switch bytes.withUnsafeBufferPointer({ parser.document($0) }) {
        case .success(let read):
            document = read.root.object
            if read.needsInspection { try StorableJSON.check(read.root, at: place) }
            return try object(read.root, at: place)
        case .failure(let fault):
            throw FieldFault(.malformedJSON, at: place, fault.message)
        }
    }
}

/// The form that a content type announces.
enum ContentForm {
    case plain, structured

    init(_ contentType: String?) throws(FieldFault) {
        guard let contentType, contentType.utf8.count >= 23 else {
            self = .plain
            return
        }
        let essence = contentType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        if essence == "application/cloudevents+json" {
            self = .structured
        } else if essence.hasPrefix("application/cloudevents") {
            throw FieldFault(
                .malformedJSON,
                at: .root,
                "of the CloudEvents formats only application/cloudevents+json is read, one event a message"
            )
        } else {
            self = .plain
        }
    }
}

/// The body of a request, parsed as strictly as the body of a message.
package enum ObjectBody {
    /// Returns the object in the bytes.
    ///
    /// The rejection is `malformed-json`, or names a value that cannot be stored.
    package static func read(_ bytes: [UInt8]) -> Result<JSONObject, Rejection> {
        var document: JSONObject?
        do throws(FieldFault) {
            return .success(try InboundMessage.object(bytes, .event, at: .root, &document))
        } catch {
            return .failure(Rejection(error, app: nil, type: nil, id: nil))
        }
    }
}
