/// The content of an event, without its names and its audience.
public struct EventContent: Hashable, Sendable {
    /// The explicit title; `nil` if the catalogue's template supplies it.
    public var title: String?
    /// The explicit body; `nil` if the catalogue's template supplies it.
    public var body: String?
    /// The values for templates and for the client; empty if the message has none.
    public var data: JSONObject
    /// The target of a tap; replaces the catalogue's link.
    public var route: String?
    /// The subject of the notification, such as a transaction.
    public var targetID: String?
    /// Strings for the client; every value is a `.string`.
    ///
    /// Empty if the message has none.
    public var metadata: JSONObject
    /// The venue of the event.
    public var venueID: String?
    /// The URL of a picture, with `http` or `https`.
    public var imageURL: String?
    /// The key by which notifications replace one another on a device.
    public var collapseKey: String?
    /// Whether the event is never sent by e-mail, regardless of its type.
    public var isNeverMailed: Bool

    init(_ reader: FieldReader) throws(FieldFault) {
        title = try reader.text(EventField.title.rawValue, 1...FieldLimits.title)
        body = try reader.text(EventField.body.rawValue, 0...FieldLimits.body)
        data = try reader.object(EventField.data.rawValue) ?? JSONObject()
        route = try reader.line(EventField.route.rawValue, longest: FieldLimits.route)
        targetID = try reader.line(EventField.targetId.rawValue, longest: FieldLimits.reference)
        metadata = try Self.metadata(reader)
        venueID = try reader.line(EventField.venueId.rawValue, longest: FieldLimits.reference)
        imageURL = try Self.imageURL(reader)
        collapseKey = try reader.line(EventField.collapseKey.rawValue, longest: FieldLimits.reference)
        isNeverMailed = try reader.bool(EventField.noEmail.rawValue) ?? false
    }

    private static func metadata(_ reader: FieldReader) throws(FieldFault) -> JSONObject {
        guard let object = try reader.object(EventField.metadata.rawValue) else { return JSONObject() }
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
        return object
    }

    /// Reads an absolute URL and checks its form: a scheme, the beginning of a host, no spaces or control characters.
    private static func imageURL(_ reader: FieldReader) throws(FieldFault) -> String? {
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
