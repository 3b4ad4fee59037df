/// What an event says, apart from whose it is and who hears of it.
public struct EventContent: Hashable, Sendable {
    /// Explicit title; nil where the catalogue's template makes one.
    public var title: String?
    /// Explicit body; nil where the catalogue's template makes one.
    public var body: String?
    /// Values for templates and for the client; empty when the message has none.
    public var data: JSONObject
    /// Where a tap leads; takes the place of the catalogue's link.
    public var route: String?
    /// What the notification is about, such as a transaction.
    public var targetID: String?
    /// Strings for the client: every value is a `.string`.
    ///
    /// Empty when the message has none.
    public var metadata: JSONObject
    /// The venue it comes from.
    public var venueID: String?
    /// A picture, `http` or `https`.
    public var imageURL: String?
    /// Notifications with the same key replace one another on a device.
    public var collapseKey: String?
    /// Whether it is never sent by e-mail, whatever its type says.
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

    /// An absolute URL by its shape: scheme, something of a host, no spaces or control characters.
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
