/// Parses an inbound message in any of its three forms, or returns the reason for its permanent rejection.
///
/// The result is always a value: for any bytes and headers, the parser neither throws nor traps, and it does not read a
/// clock.
public struct SubmissionParser: Sendable {
    /// The type of the message that cancels an event, available in every app.
    public static let cancellationType = EventType.cancellation

    let catalogs: CatalogSet
    private let hash: (@Sendable ([UInt8]) -> [UInt8])?

    /// Creates a parser for the apps of these catalogues.
    ///
    /// `hash` creates the ids of events without one, for apps that allow this. Without `hash`, such events are
    /// rejected. This library contains no cryptography. Other programs must use the same function, SHA-256, to arrive
    /// at the same ids.
    public init(_ catalogs: CatalogSet, hash: (@Sendable ([UInt8]) -> [UInt8])? = nil) {
        self.catalogs = catalogs
        self.hash = hash
    }

    /// Parses one message.
    ///
    /// Most messages are events in a plain form, which are read without a JSON tree.
    public func parse(_ envelope: InboundEnvelope) -> Result<Submission, Rejection> {
        if let event = PlainEventReader(catalogs).event(in: envelope) { return .success(.event(event)) }
        return parseTree(envelope)
    }

    /// Parses one message of any form by its JSON tree.
    package func parseTree(_ envelope: InboundEnvelope) -> Result<Submission, Rejection> {
        var document: JSONObject?
        do {
            let message = try InboundMessage(envelope, document: &document)
            if catalogs.hasMappings, let (catalog, mapping) = mapping(of: message, envelope) {
                return converted(message, envelope, by: mapping, catalog)
            }
            return .success(try submission(message, envelope))
        } catch {
            return .failure(Rejection(error, of: envelope, document))
        }
    }

    private func submission(
        _ message: InboundMessage,
        _ envelope: InboundEnvelope
    ) throws(FieldFault) -> Submission {
        let claims = MessageIdentity(message, envelope)
        let appName = try claims.app()
        let typeName = try claims.eventType()
        guard let app = AppID(validating: appName.text), let catalog = catalogs[app] else { throw appName.unknownApp }
        let reader = JSONFieldReader(message.fields, at: message.base)
        if let type = EventType(validating: typeName.text), let policy = catalog[type] {
            let id = try claims.eventID(otherwise: catalog.namesByContent ? contentID(message, type) : nil)
            let time = message.cloudEvent?.time ?? envelope.timestamp.flatMap(Timestamp.init(seconds:))
            let circumstances = Event.Defaults(
                time: time,
                trace: claims.traceParent,
                audience: reader[EventField.to.rawValue] == nil ? try policy.audience?.audience(from: reader) : nil,
                read: { catalog.reading(of: $0, for: policy) }
            )
            return .event(try Event(reader, (app, type, id), circumstances))
        }
        if let type = FeedType(rawValue: typeName.text) {
            let time = message.cloudEvent?.time ?? envelope.timestamp.flatMap(Timestamp.init(seconds:))
            let sentAt = try reader.timestamp(EventField.sentAtIso.rawValue) ?? time
            let change = try FeedChange(type, try completed(reader, of: message, type, catalog))
            if case .reminderSet(let reminder) = change { try check(reminder, reader, catalog) }
            return .feed(FeedUpdate(app: app, sentAt: sentAt, change: change))
        }
        guard typeName.text == Self.cancellationType else { throw typeName.unknownType }
        return .cancellation(app: app, eventID: try reader.required("id", as: EventID.self, or: .missingID))
    }

    /// Returns the fields of a device with its provider, if platform and catalogue leave one choice.
    private func completed(
        _ reader: JSONFieldReader,
        of message: InboundMessage,
        _ type: FeedType,
        _ catalog: Catalog
    ) throws(FieldFault) -> JSONFieldReader {
        guard type == .subscriptionUpserted, reader["provider"] == nil,
            let token: DeviceToken = try reader.identifier("token"),
            let platform = try reader.word("platform", as: DevicePlatform.self),
            let provider = catalog.provider(for: platform, token: token)
        else { return reader }
        var fields = message.fields
        fields["provider"] = .string(provider.rawValue)
        return JSONFieldReader(fields, at: message.base)
    }

    /// Checks the event type that a reminder names.
    private func check(
        _ reminder: ReminderUpdate,
        _ reader: JSONFieldReader,
        _ catalog: Catalog
    ) throws(FieldFault) {
        guard let name = reminder.type else { return }
        let place = reader.place(EventField.eventType.rawValue)
        guard let type = catalog[name] else {
            throw FieldFault(.unknownType, at: place, "the app's catalogue does not know this type")
        }
        // Reminders are never mailed.
        guard !type.emailByDefault else {
            throw FieldFault(.invalidField, at: place, "this type is mailed by default; choose another")
        }
    }

    /// Returns the id for a body without one; the order of fields does not affect it.
    func contentID(_ message: InboundMessage, _ type: EventType) -> EventID? {
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
    func reading(of topic: Topic, for type: CatalogType) -> Event.ParsedTopic {
        let topic = topics.canonical(topic)
        return Event.ParsedTopic(
            topic: topic,
            venueID: topics.venueID(of: topic),
            collapseKey: type.burst == nil ? nil : Self.collapseKey(of: type.type, topic)
        )
    }

    /// Returns the collapse key for a type and a topic.
    ///
    /// A stored event is parsed again, so the key must satisfy the rules for producers' keys.
    private static func collapseKey(of type: EventType, _ topic: Topic) -> String {
        let key = "\(type) \(topic)"
        guard key.count > FieldLimits.reference else { return key }
        let hash = StableHash(of: Array(key.utf8)).text
        return key.prefix(FieldLimits.reference - hash.count - 1) + " " + hash
    }
}

/// A producer's message, parsed and validated.
public enum Submission: Hashable, Sendable {
    /// An event for its audience.
    case event(Event)
    /// A change of a user's or device's data.
    case feed(FeedUpdate)
    /// The cancellation of an event that waits for its `deliverAt`.
    case cancellation(app: AppID, eventID: EventID)
    /// Another application's message that the mapping of this name ignores.
    case ignored(app: AppID, mapping: EventType)
}
