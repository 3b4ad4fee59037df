/// The content of an event, without its names and its audience.
public struct EventContent: Hashable, Sendable {
    /// The explicit title; `nil` if the catalogue's template supplies it.
    public var title: String?
    /// The explicit body; `nil` if the catalogue's template supplies it.
    public var body: String?
    /// The values for templates and for the client; empty if the message has none.
    public var data: JSONObject
    /// The target of a tap; replaces the catalogue's link, or a part of it.
    public var route: EventRoute?
    /// The subject of the notification, such as a transaction.
    public var targetID: String?
    /// Strings for the client; every value is a string.
    ///
    /// Empty if the message has none.
    package var metadata: CanonicalObject
    /// The venue of the event.
    public var venueID: String?
    /// The URL of a picture, with `http` or `https`.
    public var imageURL: String?
    /// The key by which notifications replace one another on a device.
    public var collapseKey: String?
    /// Whether the event is never sent by e-mail, regardless of its type.
    public var isNeverMailed: Bool

    /// Creates content without a route, an image and `noEmail`.
    init(
        title: String?,
        body: String?,
        data: JSONObject,
        targetID: String?,
        metadata: CanonicalObject,
        venueID: String?,
        collapseKey: String?
    ) {
        self.title = title
        self.body = body
        self.data = data
        self.targetID = targetID
        self.metadata = metadata
        self.venueID = venueID
        self.collapseKey = collapseKey
        isNeverMailed = false
    }

    init(_ reader: JSONFieldReader) throws(FieldFault) {
        title = try reader.text(EventField.title.rawValue, 1...FieldLimits.title)
        body = try reader.text(EventField.body.rawValue, 0...FieldLimits.body)
        data = try reader.object(EventField.data.rawValue) ?? JSONObject()
        route = try EventRoute(reader)
        targetID = try reader.line(EventField.targetId.rawValue, longest: FieldLimits.reference)
        metadata = try Self.metadata(reader)
        venueID = try reader.line(EventField.venueId.rawValue, longest: FieldLimits.reference)
        imageURL = try Self.imageURL(reader)
        collapseKey = try reader.line(EventField.collapseKey.rawValue, longest: FieldLimits.reference)
        isNeverMailed = try reader.bool(EventField.noEmail.rawValue) ?? false
    }

    private static func metadata(_ reader: JSONFieldReader) throws(FieldFault) -> CanonicalObject {
        guard let object = try reader.object(EventField.metadata.rawValue) else { return .empty }
        let place = reader.place(EventField.metadata.rawValue)
        guard object.count <= FieldLimits.metadataEntries else {
            throw FieldFault(.invalidField, at: place, "expected at most \(FieldLimits.metadataEntries) entries")
        }
        for member in object.members {
            guard member.key.hasLength(1...FieldLimits.metadataKey) else {
                throw FieldFault(
                    .invalidField,
                    at: place,
                    "expected keys of 1 to \(FieldLimits.metadataKey) characters"
                )
            }
            guard case .string(let text) = member.value, text.hasLength(0...FieldLimits.metadataValue) else {
                throw FieldFault(
                    at: place.key(member.key),
                    expected: "a string of at most \(FieldLimits.metadataValue) characters",
                    found: member.value
                )
            }
        }
        return CanonicalObject(object)
    }

    /// Reads an absolute URL and checks its form: a scheme, the beginning of a host, no spaces or control characters.
    private static func imageURL(_ reader: JSONFieldReader) throws(FieldFault) -> String? {
        guard let text = try reader.line(EventField.imageUrl.rawValue, longest: FieldLimits.imageURL) else {
            return nil
        }
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }), !text.utf8.contains(UInt8(ascii: " ")),
            let first = text.utf8.dropFirst(scheme.utf8.count).first, !"/?#".utf8.contains(first)
        else {
            throw FieldFault(
                .invalidField,
                at: reader.place(EventField.imageUrl.rawValue),
                "expected an http or https URL"
            )
        }
        return text
    }
}

extension Event {
    /// Writes the canonical bytes of the event's identity: everything that a user would see or that changes its
    /// delivery.
    ///
    /// Two events with the same id and different bytes are an `id-conflict`.
    ///
    /// The bytes exclude the sending time, the audience (which is compared per user) and the form of the message. They
    /// are a JSON object with sorted keys. Absent fields are left out, and empty `data` and `metadata` count as absent.
    /// Instants are in microseconds, and numbers keep their spelling (`1` and `1.0` differ).
    ///
    /// `body` gets the bytes in the buffer in which they were written; they are valid during the call.
    package func withContentBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        JSONBuffer.withScratch { json in
            writeContent(into: &json)
            return json.withBytes(body)
        }
    }

    private func writeContent(into json: inout JSONBuffer) {
        json.append(UInt8(ascii: "{"))
        json.write("body", content.body)
        json.write("collapseKey", content.collapseKey)
        json.write("data", json: data)
        json.write("deliverAt", deliverAt)
        json.write("expiresAt", expiresAt)
        json.write("imageUrl", content.imageURL)
        json.write("metadata", json: content.metadata.isEmpty ? nil : content.metadata.bytes)
        json.write("noEmail", content.isNeverMailed)
        switch content.route {
        case .shared(let route)?: json.write("route", route)
        case .separate?: json.write("route", json: content.route?.json.object?.canonicalBytes)
        case nil: break
        }
        json.write("targetId", content.targetID)
        json.write("title", content.title)
        json.write("type", type.text)
        json.write("venueId", content.venueID)
        json.append(UInt8(ascii: "}"))
    }
}

/// Functions that write a member unless its value is absent.
extension JSONBuffer {
    fileprivate mutating func write(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        begin(key)
        append(text)
    }

    /// Writes a true value; false counts as absent.
    fileprivate mutating func write(_ key: StaticString, _ isTrue: Bool) {
        guard isTrue else { return }
        begin(key)
        append("true" as StaticString)
    }

    fileprivate mutating func write(_ key: StaticString, json: [UInt8]?) {
        guard let json else { return }
        begin(key)
        json.withUnsafeBufferPointer { append($0) }
    }

    fileprivate mutating func write(_ key: StaticString, _ instant: Timestamp?) {
        guard let instant else { return }
        begin(key)
        append(instant.microseconds)
    }
}
