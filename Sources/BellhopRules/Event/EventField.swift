/// The fields of an event's body, with their names in the message.
public enum EventField: String, CaseIterable, Hashable, Sendable {
    /// The event's identifier.
    case id
    /// The app.
    case app
    /// The type.
    case eventType
    /// The audience.
    case to
    /// The explicit title.
    case title
    /// The explicit body.
    case body
    /// The values for templates and for the client.
    case data
    /// The target of a tap.
    case route
    /// The subject of the notification, such as a transaction.
    case targetId
    /// Strings for the client.
    case metadata
    /// The venue of the event.
    case venueId
    /// The URL of a picture.
    case imageUrl
    /// The time at which the producer sent it.
    case sentAtIso
    /// The earliest instant of delivery.
    case deliverAt
    /// The latest instant of delivery.
    case expiresAt
    /// The key by which notifications replace one another on a device.
    case collapseKey
    /// Whether the event is never sent by e-mail, regardless of its type.
    case noEmail
}
