/// Something that happened, as its producer tells it, validated: the same value whichever of the three forms it came
/// in.
///
/// An object, since it is handed from step to step with a dozen texts in it.
public final class Event: Sendable {
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
    public let sentAt: Timestamp?
    /// Not to be delivered before this instant.
    ///
    /// How far ahead that may be is for whoever has a clock to judge.
    public let deliverAt: Timestamp?
    /// Not to be pushed from this instant on.
    public let expiresAt: Timestamp?
    /// The trace it belongs to.
    public let traceParent: TraceParent?

    /// Whose and what it is, as far as more than its body tells.
    typealias Names = (app: AppID, type: EventType, id: EventID)

    /// What an envelope adds to a body.
    struct Circumstances {
        /// When it was sent, for where the body says nothing of it.
        let time: Timestamp?
        let trace: TraceParent?
    }

    /// With what its catalogue has for where the body says nothing: the audience, the venue of its topic, and the key by
    /// which the notifications of a burst replace one another.
    init(
        _ reader: FieldReader,
        _ names: Names,
        in catalog: Catalog,
        _ circumstances: Circumstances
    ) throws(FieldFault) {
        (app, type, id) = names
        let policy = catalog[names.type]
        var audience = try Audience(reader, otherwise: policy?.audience)
        var content = try EventContent(reader)
        if case .topic(let said) = audience {
            let topic = catalog.topics.canonical(said)
            audience = .topic(topic)
            content.venueID = content.venueID ?? catalog.topics.venueID(of: topic)
            if policy?.burst != nil { content.collapseKey = content.collapseKey ?? "\(names.type) \(topic)" }
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
    /// Whether both say the same of everything.
    public static func == (left: Event, right: Event) -> Bool {
        left === right
            || (left.id == right.id && left.app == right.app && left.type == right.type
                && left.audience == right.audience && left.content == right.content && left.sentAt == right.sentAt
                && left.deliverAt == right.deliverAt && left.expiresAt == right.expiresAt
                && left.traceParent == right.traceParent)
    }

    /// The names are enough to tell most events apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(app)
        hasher.combine(id)
    }
}

extension Event {
    /// What is wrong with it when it arrives at an instant, which only the clock can tell; nil where nothing is.
    ///
    /// A plan further ahead than a year is taken for a mistake.
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
