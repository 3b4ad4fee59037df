/// The content of `recipient.upserted`.
public struct RecipientUpdate: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// The language of the texts.
    public let locale: FieldUpdate<LanguageTag>
    /// The zone for quiet hours and reminders.
    public let timezone: FieldUpdate<TimeZoneName>
    /// The e-mail address.
    public let email: FieldUpdate<EmailAddress>
    /// The preference document as received, until it is normalised.
    public private(set) var preferences: FieldUpdate<JSONObject>
    /// Whether devices may be used.
    public let pushEnabled: FieldUpdate<Bool>
    /// Whether e-mail may be used.
    public let emailEnabled: FieldUpdate<Bool>

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
        self.user = user
        locale = try reader.update("locale") { key throws(FieldFault) in try reader.identifier(key) }
        timezone = try reader.update("timezone") { key throws(FieldFault) in try reader.identifier(key) }
        email = try reader.update("email") { key throws(FieldFault) in try reader.identifier(key) }
        preferences = try reader.update("preferences") { key throws(FieldFault) in try reader.object(key) }
        pushEnabled = try reader.update("pushEnabled") { key throws(FieldFault) in try reader.bool(key) }
        emailEnabled = try reader.update("emailEnabled") { key throws(FieldFault) in try reader.bool(key) }
    }

    /// Normalises the preferences and returns whether they had to be repaired.
    public mutating func normalizePreferences(_ schema: PreferenceSchema) -> Bool {
        guard case .set(let document) = preferences else { return false }
        let normalized = PreferenceDocument(normalizing: .object(document), schema: schema)
        preferences = .set(normalized.json)
        return normalized.wasRepaired
    }
}
