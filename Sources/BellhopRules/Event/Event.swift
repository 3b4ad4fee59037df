/// A producer's event, validated; the value is the same for all three forms of the message.
///
/// It is a class because it passes through many steps and contains about a dozen strings.
public final class Event: Sendable {
    /// The producer's identifier, unique within the app.
    public let id: EventID
    /// The app of the event; a catalogue describes it.
    public let app: AppID
    /// The event type, which the app's catalogue defines.
    public let type: EventType
    /// The audience of the event.
    public let audience: Audience
    /// The content of the event.
    public let content: EventContent
    /// The time at which the producer sent it, from the body, CloudEvents or the AMQP timestamp.
    public let sentAt: Timestamp?
    /// The earliest instant of delivery.
    ///
    /// A component with a clock checks how far in the future it may be.
    public let deliverAt: Timestamp?
    /// The instant from which it is no longer pushed.
    public let expiresAt: Timestamp?
    /// The trace of the event.
    public let traceParent: TraceParent?

    /// The names of the event, which may have sources other than the body.
    typealias Names = (app: AppID, type: EventType, id: EventID)

    /// The values that replace missing fields of a body.
    struct Defaults {
        /// The sending time.
        let time: Timestamp?
        let trace: TraceParent?
        /// The default audience.
        let audience: Audience?
        /// Returns the information in the name of a topic.
        let read: (Topic) -> ParsedTopic
    }

    /// A topic in its canonical spelling, with the values that it supplies for missing fields of an event.
    struct ParsedTopic {
        let topic: Topic
        let venueID: String?
        /// The key by which the notifications of a burst replace one another.
        let collapseKey: String?
    }

    /// Parses the fields of a body.
    init(_ reader: FieldReader, _ names: Names, _ circumstances: Defaults) throws(FieldFault) {
        (app, type, id) = names
        var audience = try Audience(reader, otherwise: circumstances.audience)
        var content = try EventContent(reader)
        if case .topic(let said) = audience {
            let reading = circumstances.read(said)
            audience = .topic(reading.topic)
            content.venueID = content.venueID ?? reading.venueID
            content.collapseKey = content.collapseKey ?? reading.collapseKey
        }
        self.audience = audience
        self.content = content
        sentAt = try reader.timestamp(EventField.sentAtIso.rawValue) ?? circumstances.time
        traceParent = circumstances.trace
        deliverAt = try reader.timestamp(EventField.deliverAt.rawValue)
        expiresAt = try reader.timestamp(EventField.expiresAt.rawValue)
    }
}

extension Event: Hashable {
    /// Returns whether both events are equal in all fields.
    public static func == (left: Event, right: Event) -> Bool {
        left === right
            || (left.id == right.id && left.app == right.app && left.type == right.type
                && left.audience == right.audience && left.content == right.content && left.sentAt == right.sentAt
                && left.deliverAt == right.deliverAt && left.expiresAt == right.expiresAt
                && left.traceParent == right.traceParent)
    }

    /// Hashes app and id, which are enough to distinguish most events.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(app)
        hasher.combine(id)
    }
}

extension Event {
    /// Returns the rejection of an event that is invalid at its time of arrival; `nil` if it is valid.
    ///
    /// A plan more than a year (366 days) in the future counts as a mistake.
    public func refusal(at arrival: Timestamp) -> Rejection? {
        let year: Int64 = 366 * 86_400 * 1_000_000
        guard let deliverAt, deliverAt.microseconds - arrival.microseconds > year else { return nil }
        return Rejection(
            reason: .invalidField,
            pointer: JSONPointer.root.key(EventField.deliverAt.rawValue),
            message: "expected an instant within a year, found one further ahead",
            event: self
        )
    }
}
