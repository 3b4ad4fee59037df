/// The claims of body, properties, CloudEvents attributes and routing key about a message's app, type and id.
///
/// The first claim decides, and all others must agree with it. A producer that may publish `drop.*` must not be able to
/// name another app in the body.
struct MessageIdentity {
    /// The source of a claim.
    fileprivate enum Source: String {
        case body = "the body"
        case cloudEvent = "the CloudEvents attributes"
        case property = "the message's property"
        case routingKey = "the routing key"
    }

    private let message: InboundMessage
    private let envelope: InboundEnvelope
    private let routed: (app: Substring, type: Substring)?
    private var base: JSONPointer { message.base }

    init(_ message: InboundMessage, _ envelope: InboundEnvelope) {
        self.message = message
        self.envelope = envelope
        routed = envelope.routedNames
    }

    /// Returns the app's name, before its lookup.
    func app() throws(FieldFault) -> Name {
        var name = try bodyClaim(.app)
        try agree(&name, .property, envelope.appID, on: .app)
        if let routed { try agree(&name, .routingKey, routed.app, on: .app) }
        guard let name else {
            throw FieldFault(
                .unknownApp,
                at: base.key("app"),
                "no app is named, neither in the body nor by app_id or routing key"
            )
        }
        return Name(text: name.text, source: name.witness, place: base.key(EventField.app.rawValue))
    }

    /// The name of an app or a type, before its lookup, and its source.
    struct Name {
        let text: String
        fileprivate let source: Source
        /// The place of the name in the body, if the body is its source.
        fileprivate let place: JSONPointer

        /// The fault of a message whose app has no catalogue.
        var unknownApp: FieldFault { FieldFault(.unknownApp, at: foundAt, "no catalogue describes \(words("app"))") }

        /// The fault of a message whose type the app's catalogue does not know.
        var unknownType: FieldFault {
            FieldFault(.unknownType, at: foundAt, "the app's catalogue does not know \(words("type"))")
        }

        /// The place of the name; the root if no member of the body has it.
        private var foundAt: JSONPointer {
            switch source {
            case .body: place
            case .cloudEvent: JSONPointer.root.key("type")
            case .property, .routingKey: .root
            }
        }

        /// A name in the body would contradict the other source, so the message names the source to correct.
        private func words(_ what: String) -> String {
            [.body, .cloudEvent].contains(source) ? "this \(what)" : "the \(what) that \(source.rawValue) names"
        }
    }

    /// Returns the type's name.
    ///
    /// If another source states that the message sets a reminder, the body's `eventType` is the type of the reminder.
    func eventType() throws(FieldFault) -> Name {
        var name = setsReminder ? nil : try bodyClaim(.eventType)
        try agree(&name, .cloudEvent, message.cloudEvent?.type, on: .eventType)
        try agree(&name, .property, envelope.type, on: .eventType)
        if let routed { try agree(&name, .routingKey, routed.type, on: .eventType) }
        guard let name else {
            throw FieldFault(
                .unknownType,
                at: base.key("eventType"),
                "no event type is named, neither in the body nor by property or routing key"
            )
        }
        return Name(text: name.text, source: name.witness, place: base.key(EventField.eventType.rawValue))
    }

    /// Whether a source other than the body names the message that sets a reminder.
    private var setsReminder: Bool {
        let name = FeedType.reminderSet.rawValue
        return message.cloudEvent?.type == name || envelope.type == name || routed.map { $0.type == name } ?? false
    }

    /// Returns the event's id; `usual` if there is none.
    ///
    /// In CloudEvents, the attributes supply the id if the data contain none. They do not contradict an id in the data,
    /// and the property is ignored.
    func eventID(otherwise usual: @autoclosure () -> EventID?) throws(FieldFault) -> EventID {
        var name = try bodyClaim(.id)
        if let cloudEvent = message.cloudEvent {
            name = name ?? (.cloudEvent, cloudEvent.eventID)
        } else if name == nil, let messageID = envelope.messageID, !messageID.isEmpty {
            // The property counts only if the body has no id, because many clients number their messages automatically.
            name = (.property, messageID)
        }
        guard let name else {
            if let usual = usual() { return usual }
            throw FieldFault(.missingID, at: base.key("id"), "an event needs an id, in the body or as message_id")
        }
        guard let id = EventID(validating: name.text) else {
            throw FieldFault(.invalidField, at: base.key("id"), "expected \(EventID.rule)")
        }
        return id
    }

    /// The trace of the message; `nil` if there is none or it is ill-formed.
    ///
    /// The headers take precedence, followed by the attributes of CloudEvents and then by the body. A stored event has
    /// its trace in the body.
    var traceParent: TraceParent? {
        if let text = header(TraceParent.Name.parent) {
            return TraceParent(validating: text, state: header(TraceParent.Name.state))
        }
        if let event = message.cloudEvent {
            return event.traceParent.flatMap { TraceParent(validating: $0, state: event.traceState) }
        }
        guard let text = message.fields[TraceParent.Name.parent]?.string else { return nil }
        return TraceParent(validating: text, state: message.fields[TraceParent.Name.state]?.string)
    }

    private func header(_ name: String) -> String? {
        for header in envelope.headers where header.name.utf8.count == name.utf8.count {
            if case .string(let text) = header.value, header.name.lowercased() == name { return text }
        }
        return nil
    }

    private typealias Claim = (witness: Source, text: String)

    private func bodyClaim(_ field: EventField) throws(FieldFault) -> Claim? {
        guard let value = message.fields[field.rawValue], value != .null else { return nil }
        guard case .string(let text) = value else {
            throw FieldFault(at: base.key(field.rawValue), expected: "a string", found: value)
        }
        return (.body, text)
    }

    /// Adds another claim: the first one stays, and the others must be equal to it.
    ///
    /// An empty property is ignored, because some clients set all properties.
    private func agree(
        _ claim: inout Claim?,
        _ witness: Source,
        _ text: (some StringProtocol)?,
        on field: EventField
    ) throws(FieldFault) {
        guard let text, !text.isEmpty || witness == .routingKey else { return }
        guard let first = claim else {
            claim = (witness, String(text))
            return
        }
        guard first.text.hasSameBytes(as: text) else {
            let contradiction = "\(first.witness.rawValue) and \(witness.rawValue) contradict one another"
            throw FieldFault(.invalidField, at: base.key(field.rawValue), contradiction)
        }
    }
}

extension InboundEnvelope {
    /// The routing key's first word and the rest.
    ///
    /// A key of one word has an empty type, which contradicts every type. The permission to publish such a key includes
    /// no type.
    var routedNames: (app: Substring, type: Substring)? {
        guard case .eventsExchange(let key) = source else { return nil }
        guard let dot = key.utf8.firstIndex(of: UInt8(ascii: ".")) else { return (key[...], "") }
        return (key[..<dot], key[key.utf8.index(after: dot)...])
    }
}

/// The names of a message's app, type and id if they can be read.
///
/// Each is the first legible claim of its kind, whether or not the claims agree.
///
/// The names are suitable for a dead-letter record and never for delivery.
package struct ParsedIdentity: Sendable {
    package let app: AppID?
    package let eventType: EventType?
    package let eventID: EventID?

    /// Reads the names of a message that has not been parsed.
    package init(_ envelope: InboundEnvelope) {
        let limits = JSONParser.Limits(bytes: JSONParser.Limits.event.bytes, depth: JSONParser.Limits.event.depth + 1)
        self.init(envelope, try? JSONParser(limits: limits).parse(envelope.body).get().object)
    }

    /// Reads the names from the envelope and from `document`, the body's object if it has one.
    ///
    /// If the body was not parsed, its id is read if it is legible.
    init(_ envelope: InboundEnvelope, _ document: JSONObject?) {
        let document = document ?? UnparsedNames(in: envelope.body).document
        let isCloudEvent = document?["specversion"] != nil
        let fields = isCloudEvent ? document?["data"]?.object : document
        let attributes = isCloudEvent ? document : nil
        let routed = envelope.routedNames
        let apps = [fields?["app"]?.string, envelope.appID, routed.map { String($0.app) }]
        let routedType = routed.map { String($0.type) }
        let named = [attributes?["type"]?.string, envelope.type, routedType]
        // The body of a message that sets a reminder names the type of the reminder.
        let isReminder = named.contains(FeedType.reminderSet.rawValue)
        let types = isReminder ? [FeedType.reminderSet.rawValue] : [fields?["eventType"]?.string] + named
        var ids = [fields?["id"]?.string, envelope.messageID]
        if let source = attributes?["source"]?.string, let id = attributes?["id"]?.string {
            ids.append("\(source)/\(id)")
        }
        app = apps.lazy.compactMap { $0.flatMap(AppID.init(validating:)) }.first
        eventType = types.lazy.compactMap { $0.flatMap(EventType.init(validating:)) }.first
        eventID = ids.lazy.compactMap { $0.flatMap(EventID.init(validating:)) }.first
    }
}

extension Rejection {
    /// Creates the rejection of an envelope; `document` is the body's object if it has one.
    init(_ fault: FieldFault, of envelope: InboundEnvelope, _ document: JSONObject?) {
        let names = ParsedIdentity(envelope, document)
        self.init(fault, app: names.app, type: names.eventType, id: names.eventID)
    }
}
