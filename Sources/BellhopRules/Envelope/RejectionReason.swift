/// Why a message is dead-lettered at once; the raw values are what producers and operators see.
public enum RejectionReason: String, CaseIterable, Hashable, Sendable {
    /// The body is not JSON, or not of the form that its content type promises.
    case malformedJSON = "malformed-json"
    /// The body is larger than 256 KiB.
    case tooLarge = "too-large"
    /// Neither the body nor the envelope names the event.
    case missingID = "missing-id"
    /// Nobody is named to hear of it.
    case missingAudience = "missing-audience"
    /// No catalogue knows the app, or none is named.
    case unknownApp = "unknown-app"
    /// The app's catalogue does not know the type, or none is named.
    case unknownType = "unknown-type"
    /// A field has a value that it must not have, or two places contradict one another.
    case invalidField = "invalid-field"
    /// The id was used before, with other content.
    ///
    /// Never found by parsing: it takes the database to see it.
    case idConflict = "id-conflict"
}
