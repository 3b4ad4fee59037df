/// Understands an inbound message in any of its three forms, or says why it never can be.
///
/// Whatever the bytes and the headers are, the answer is a value: nothing here throws to the outside, traps or looks at
/// a clock.
public struct SubmissionParser: Sendable {
    /// The type that takes back an event, known to every app.
    public static let cancellationType = EventType.cancellation

    private let catalogs: CatalogSet
    private let hash: (@Sendable ([UInt8]) -> [UInt8])?

    /// A parser for the apps of these catalogues.
    ///
    /// `hash` makes the ids of events that have none, for apps that allow it; without it they are refused. This library
    /// brings no cryptography: a SHA-256 is what others must have who are to come to the same ids.
    public init(_ catalogs: CatalogSet, hash: (@Sendable ([UInt8]) -> [UInt8])? = nil) {
        self.catalogs = catalogs
        self.hash = hash
    }

    /// Understands one message.
    public func parse(_ envelope: InboundEnvelope) -> Result<Submission, Rejection> {
        var document: JSONObject?
        do {
            let message = try InboundMessage(envelope, document: &document)
            return .success(try submission(message, envelope))
        } catch {
            return .failure(Rejection(error, of: envelope, document))
        }
    }

    private func submission(
        _ message: InboundMessage,
        _ envelope: InboundEnvelope
    ) throws(FieldFault) -> Submission {
        let claims = MessageClaims(message, envelope)
        let appName = try claims.app()
        let typeName = try claims.eventType()
        guard let app = AppID(validating: appName), let catalog = catalogs[app] else {
            throw FieldFault(.unknownApp, at: message.base.key("app"), "no catalogue describes this app")
        }
        let reader = FieldReader(message.fields, at: message.base)
        if let type = EventType(validating: typeName), let policy = catalog[type] {
            let id = try claims.eventID(otherwise: catalog.namesByContent ? contentID(message, type) : nil)
            let time = message.cloudEvent?.time ?? envelope.timestamp.flatMap(Timestamp.init(seconds:))
            let circumstances = Event.Circumstances(
                time: time,
                trace: claims.traceParent,
                audience: policy.audience,
                read: { catalog.reading(of: $0, for: policy) }
            )
            return .event(try Event(reader, (app, type, id), circumstances))
        }
        if let type = FeedType(rawValue: typeName) {
            let time = message.cloudEvent?.time ?? envelope.timestamp.flatMap(Timestamp.init(seconds:))
            let sentAt = try reader.timestamp(EventField.sentAtIso.rawValue) ?? time
            return .feed(FeedUpdate(app: app, sentAt: sentAt, change: try FeedChange(type, reader)))
        }
        guard typeName == Self.cancellationType else {
            throw FieldFault(
                .unknownType,
                at: message.base.key("eventType"),
                "the app's catalogue does not know this type"
            )
        }
        return .cancellation(app: app, eventID: try reader.required("id", as: EventID.self, or: .missingID))
    }

    /// The same body is the same event, in whatever order its fields come.
    private func contentID(_ message: InboundMessage, _ type: EventType) -> EventID? {
        guard let hash else { return nil }
        var fields = message.fields
        fields[EventField.eventType.rawValue] = .string(type.text)
        fields[EventField.app.rawValue] = nil
        fields[EventField.id.rawValue] = nil
        let digest = hash(JSONWriter.canonicalBytes(of: .object(fields)))
        return EventID(validating: "content:" + digest.prefix(16).map(Self.hexadecimal).joined())
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
}

extension Catalog {
    fileprivate func reading(of topic: Topic, for type: CatalogType) -> Event.TopicReading {
        let topic = topics.canonical(topic)
        return Event.TopicReading(
            topic: topic,
            venueID: topics.venueID(of: topic),
            collapseKey: type.burst == nil ? nil : Self.collapseKey(of: type.type, topic)
        )
    }

    /// What is kept of an event is read again: its key must be one that a producer could have named.
    private static func collapseKey(of type: EventType, _ topic: Topic) -> String {
        let key = "\(type) \(topic)"
        guard key.count > FieldLimits.reference else { return key }
        let hash = StableHash(of: Array(key.utf8)).text
        return key.prefix(FieldLimits.reference - hash.count - 1) + " " + hash
    }
}

/// What a producer asks for, understood and validated.
public enum Submission: Hashable, Sendable {
    /// Something happened, and somebody should hear of it.
    case event(Event)
    /// What belongs to a user or a device has changed.
    case feed(FeedUpdate)
    /// An event that waits for its `deliverAt` is taken back.
    case cancellation(app: AppID, eventID: EventID)
}
