/// Something that happened, as its producer tells it, validated: the same value whichever of the three forms it came
/// in.
public struct Event: Hashable, Sendable {
    /// The producer's identifier, unique within the app.
    public let id: EventID
    /// The app it belongs to; a catalogue describes it.
    public let app: AppID
    /// What kind of thing happened; the app's catalogue knows it.
    public let type: EventType
    /// Who is to hear of it.
    public let audience: Audience
    /// What it says.
    public let content: EventContent
    /// When the producer sent it, as far as the body, CloudEvents or the AMQP timestamp say.
    public internal(set) var sentAt: Timestamp?
    /// Not to be delivered before this instant.
    ///
    /// How far ahead that may be is for whoever has a clock to judge.
    public let deliverAt: Timestamp?
    /// Not to be pushed from this instant on.
    public let expiresAt: Timestamp?
    /// The trace it belongs to.
    public internal(set) var traceParent: TraceParent?

    init(_ reader: FieldReader, app: AppID, type: EventType, id: EventID) throws(FieldFault) {
        self.id = id
        self.app = app
        self.type = type
        audience = try Audience(reader)
        content = try EventContent(reader)
        sentAt = try reader.timestamp(EventField.sentAtIso.rawValue)
        deliverAt = try reader.timestamp(EventField.deliverAt.rawValue)
        expiresAt = try reader.timestamp(EventField.expiresAt.rawValue)
    }
}
