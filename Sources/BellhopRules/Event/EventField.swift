/// The fields of an event's body by their names on the wire.
public enum EventField: String, CaseIterable, Hashable, Sendable {
    /// The event's identifier.
    case id
    /// The app.
    case app
    /// The type.
    case eventType
    /// The audience.
    case to
    /// Explicit title.
    case title
    /// Explicit body.
    case body
    /// Values for templates and for the client.
    case data
    /// Where a tap leads.
    case route
    /// What the notification is about, such as a transaction.
    case targetId
    /// Strings for the client.
    case metadata
    /// The venue it comes from.
    case venueId
    /// A picture.
    case imageUrl
    /// When the producer sent it.
    case sentAtIso
    /// Not before this instant.
    case deliverAt
    /// Not after this instant.
    case expiresAt
    /// Notifications with the same key replace one another on a device.
    case collapseKey
    /// Never sent by e-mail, whatever its type says.
    case noEmail
}
