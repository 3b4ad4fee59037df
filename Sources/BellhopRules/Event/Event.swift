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
    /// The catalogue's mapping that has made the event from another application's message; `nil` for other events.
    package let mapping: EventType?
    /// The canonical JSON text of `content.data`; `nil` if that is empty.
    package let data: [UInt8]?

    /// The names of the event, which may have sources other than the body.
    typealias Names = (app: AppID, type: EventType, id: EventID)

    /// The values that replace missing fields of a body.
    struct Defaults {
        /// The sending time.
        let time: Timestamp?
        let trace: TraceParent?
        /// The default audience.
        let audience: Audience?
        /// The mapping that has made the fields.
        var mapping: EventType?
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
    init(_ reader: JSONFieldReader, _ names: Names, _ circumstances: Defaults) throws(FieldFault) {
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
        // It is written once: the content's hash covers it, and the tables store it.
        data = content.data.isEmpty ? nil : content.data.canonicalBytes
        sentAt = try reader.timestamp(EventField.sentAtIso.rawValue) ?? circumstances.time
        traceParent = circumstances.trace
        mapping = circumstances.mapping
        deliverAt = try reader.timestamp(EventField.deliverAt.rawValue)
        expiresAt = try reader.timestamp(EventField.expiresAt.rawValue)
    }

    /// Creates an event for one user, for now and without a trace; `data` is the canonical text of the content's.
    init(
        _ names: Names,
        to user: UserID,
        _ content: EventContent,
        data: [UInt8]?,
        sentAt: Timestamp?,
        expiresAt: Timestamp?
    ) {
        (app, type, id) = names
        audience = .users([user])
        self.content = content
        self.data = data
        self.sentAt = sentAt
        self.expiresAt = expiresAt
        deliverAt = nil
        traceParent = nil
        mapping = nil
    }

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

    /// Returns the event as a plain JSON body, complete and canonical.
    ///
    /// Parsing it gives an equal event, whatever the original form was.
    ///
    /// An event is stored in this form until it is due, and is then published in it `withoutDeliverAt`. `expiresAt` is
    /// used for an event without its own value, and `audience` replaces the event's.
    public func plainForm(
        for audience: Audience? = nil,
        expiresAt: Timestamp? = nil,
        withoutDeliverAt: Bool = false
    ) -> [UInt8] {
        var fields = JSONObject()
        fields[EventField.id.rawValue] = .string(id.text)
        fields[EventField.app.rawValue] = .string(app.text)
        fields[EventField.eventType.rawValue] = .string(type.text)
        fields[EventField.to.rawValue] = .object((audience ?? self.audience).plainForm)
        fields[EventField.title.rawValue] = content.title.map(JSONValue.string)
        fields[EventField.body.rawValue] = content.body.map(JSONValue.string)
        fields[EventField.data.rawValue] = content.data.isEmpty ? nil : .object(content.data)
        fields[EventField.route.rawValue] = content.route?.json
        fields[EventField.targetId.rawValue] = content.targetID.map(JSONValue.string)
        fields[EventField.metadata.rawValue] = content.metadata.isEmpty ? nil : .object(content.metadata.object)
        fields[EventField.venueId.rawValue] = content.venueID.map(JSONValue.string)
        fields[EventField.imageUrl.rawValue] = content.imageURL.map(JSONValue.string)
        fields[EventField.collapseKey.rawValue] = content.collapseKey.map(JSONValue.string)
        fields[EventField.noEmail.rawValue] = content.isNeverMailed ? .bool(true) : nil
        fields[EventField.sentAtIso.rawValue] = (sentAt?.description).map(JSONValue.string)
        let deliverAt = withoutDeliverAt ? nil : self.deliverAt
        fields[EventField.deliverAt.rawValue] = (deliverAt?.description).map(JSONValue.string)
        fields[EventField.expiresAt.rawValue] = ((self.expiresAt ?? expiresAt)?.description).map(JSONValue.string)
        fields[TraceParent.Name.parent] = (traceParent?.text).map(JSONValue.string)
        fields[TraceParent.Name.state] = (traceParent?.state).map(JSONValue.string)
        return JSONWriter.canonicalBytes(of: .object(fields))
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

extension Audience {
    fileprivate var plainForm: JSONObject {
        switch self {
        case .users(let users): JSONObject([("users", .array(users.map { .string($0.text) }))])
        case .topic(let topic): JSONObject([("topic", .string(topic.text))])
        case .everyone: JSONObject([("everyone", .bool(true))])
        }
    }
}

/// The users in the audience of an event.
public enum Audience: Hashable, Sendable {
    /// Named users, each once, in the order of the message; 1 to 1,000.
    case users([UserID])
    /// The followers of the topic.
    case topic(Topic)
    /// Every user of the app.
    case everyone

    /// The topic of the audience; `nil` for named users and for everyone.
    public var topic: Topic? { if case .topic(let topic) = self { topic } else { nil } }

    /// The keys of `to`; a message contains exactly one.
    enum Key: String, CaseIterable {
        case user, users, topic, everyone
    }

    /// Reads the value of `to`; `usual` is the audience of an event without one.
    init(_ reader: JSONFieldReader, otherwise usual: Audience?) throws(FieldFault) {
        let place = reader.place(EventField.to.rawValue)
        guard let value = reader[EventField.to.rawValue] else {
            if let usual {
                self = usual
                return
            }
            throw FieldFault(.missingAudience, at: place, "an event needs an audience in \"to\"")
        }
        guard case .object(let object) = value else { throw FieldFault(at: place, expected: "an object", found: value) }
        let to = JSONFieldReader(object, at: place)
        var present: Key?
        for key in Key.allCases where to[key.rawValue] != nil {
            guard present == nil else {
                throw FieldFault(.invalidField, at: place, "user, users, topic and everyone exclude one another")
            }
            present = key
        }
        guard let key = present else {
            throw FieldFault(.missingAudience, at: place, "expected one of user, users, topic or everyone")
        }
        switch key {
        case .user: self = .users([try to.required(key.rawValue)])
        case .users: self = .users(try Self.users(to))
        case .topic: self = .topic(try to.required(key.rawValue))
        case .everyone:
            guard to[key.rawValue] == .bool(true) else {
                throw FieldFault(.invalidField, at: to.place(key.rawValue), "expected true")
            }
            self = .everyone
        }
    }

    private static func users(_ to: JSONFieldReader) throws(FieldFault) -> [UserID] {
        let elements = try to.array(Key.users.rawValue) ?? []
        let place = to.place(Key.users.rawValue)
        guard !elements.isEmpty else { throw FieldFault(.missingAudience, at: place, "the list of users is empty") }
        guard elements.count <= FieldLimits.users else {
            throw FieldFault(
                .invalidField,
                at: place,
                "\(elements.count) users; at most \(FieldLimits.users) can be named, use a topic for more"
            )
        }
        var users: [UserID] = []
        users.reserveCapacity(elements.count)
        var seen: Set<UserID> = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let user = UserID(validating: text) else {
                throw FieldFault(at: place.index(index), expected: "a user id of \(UserID.rule)", found: element)
            }
            if seen.insert(user).inserted { users.append(user) }
        }
        return users
    }
}

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
