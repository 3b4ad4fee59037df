/// What the body, the properties, the CloudEvents attributes and the routing key each say about whose message it is.
///
/// The first that speaks decides, and all others that speak must agree: a producer who may publish `drop.*` must not be
/// able to speak for another app in the body.
struct MessageClaims {
    private let message: InboundMessage
    private let envelope: InboundEnvelope
    private var base: JSONPointer { message.base }

    init(_ message: InboundMessage, _ envelope: InboundEnvelope) {
        self.message = message
        self.envelope = envelope
    }

    /// The app's name, not yet looked up.
    func app() throws(FieldFault) -> String {
        let claims = [
            try bodyClaim("app"), Claim(property: "app_id", envelope.appID), Claim("the routing key", routed?.app),
        ]
        guard let app = try agreed(claims, at: base.key("app")) else {
            throw FieldFault(
                .unknownApp, at: base.key("app"), "no app is named, neither in the body nor by app_id or routing key")
        }
        return app
    }

    /// The type's name, not yet looked up.
    func eventType() throws(FieldFault) -> String {
        let claims = [
            try bodyClaim("eventType"), Claim("the CloudEvents type", message.cloudEvent?.type),
            Claim(property: "type", envelope.type), Claim("the routing key", routed?.type),
        ]
        guard let type = try agreed(claims, at: base.key("eventType")) else {
            throw FieldFault(
                .unknownType, at: base.key("eventType"),
                "no event type is named, neither in the body nor by property or routing key")
        }
        return type
    }

    /// The event's id. CloudEvents attributes stand in for the properties, as the last resort.
    func eventID() throws(FieldFault) -> EventID {
        let place = base.key("id")
        var property = Claim(property: "message_id", envelope.messageID)
        let body = try bodyClaim("id")
        if let cloudEvent = message.cloudEvent {
            property = body.text == nil ? Claim("the CloudEvents attributes", cloudEvent.eventID) : Claim("", nil)
        }
        guard let text = try agreed([body, property], at: place) else {
            throw FieldFault(.missingID, at: place, "an event needs an id, in the body or as message_id")
        }
        guard let id = EventID(validating: text) else {
            throw FieldFault(.invalidField, at: place, "expected \(EventID.rule)")
        }
        return id
    }

    /// The trace that the message belongs to, nil when there is none or it is ill-formed.
    var traceParent: TraceParent? {
        for header in envelope.headers where header.name.utf8.count == 11 && header.name.lowercased() == "traceparent" {
            guard case .string(let text) = header.value else { continue }
            return TraceParent(validating: text)
        }
        return message.cloudEvent?.traceParent.flatMap(TraceParent.init(validating:))
    }

    private struct Claim {
        let source: String
        let text: String?

        init(_ source: String, _ text: String?) {
            self.source = source
            self.text = text
        }

        /// An empty property says nothing: some clients set all of them.
        init(property name: String, _ text: String?) {
            self.init("the property \(name)", text?.isEmpty == true ? nil : text)
        }
    }

    private func bodyClaim(_ key: String) throws(FieldFault) -> Claim {
        guard let value = message.fields[key], value != .null else { return Claim("the body", nil) }
        guard case .string(let text) = value else {
            throw FieldFault(at: base.key(key), expected: "a string", found: value)
        }
        return Claim("the body", text)
    }

    private func agreed(_ claims: [Claim], at place: JSONPointer) throws(FieldFault) -> String? {
        var first: Claim?
        for claim in claims {
            guard let text = claim.text else { continue }
            guard let spoken = first, let other = spoken.text else {
                first = claim
                continue
            }
            guard text.hasSameBytes(as: other) else {
                throw FieldFault(
                    .invalidField, at: place, "\(spoken.source) and \(claim.source) contradict one another")
            }
        }
        return first?.text
    }

    private var routed: (app: String, type: String)? { envelope.routedNames }
}

extension InboundEnvelope {
    /// The routing key's first word and the rest. A key of one word leaves an empty type, which contradicts every type:
    /// who may publish such a key has not been given the right to any.
    var routedNames: (app: String, type: String)? {
        guard case .eventsExchange(let key) = source else { return nil }
        guard let dot = key.utf8.firstIndex(of: UInt8(ascii: ".")) else { return (key, "") }
        return (String(key[..<dot]), String(key[key.utf8.index(after: dot)...]))
    }
}
