package import AMQP
package import BellhopRules

/// The message in which an event is published as plain JSON, by `bellhop publish` and by a relay.
package enum EventMessage {
    /// Makes the message of a submission.
    ///
    /// The routing key and the properties repeat parts of the body, for operators who inspect messages at the broker.
    package static func make(_ submission: Submission, body: [UInt8], to exchange: String) -> OutgoingMessage {
        switch submission {
        // AMQP limits short strings to 255 bytes. The body contains the id in any case.
        case .event(let event): make("\(event.app).\(event.type)", id: event.id.text, body, exchange)
        case .feed(let update): make("\(update.app).\(update.change.type.rawValue)", body, exchange)
        case .cancellation(let app, _): make("\(app).\(SubmissionParser.cancellationType)", body, exchange)
        }
    }

    /// Makes the message of an event that no catalogue has judged.
    ///
    /// A valid event gets the same message as above. Any other body is published as it is: a worker rejects it with its
    /// reason, and it becomes a dead letter. Without names for a routing key it goes to the queue for unknown keys.
    package static func make(unjudged body: [UInt8], to exchange: String) -> OutgoingMessage {
        let names = ParsedIdentity(InboundEnvelope(body: body, source: .elsewhere))
        guard let app = names.app, let type = names.eventType else { return make("", body, exchange) }
        let isEvent = FeedType(rawValue: type.text) == nil && type.text != SubmissionParser.cancellationType
        return make("\(app).\(type)", id: isEvent ? names.eventID?.text : nil, body, exchange)
    }

    private static func make(_ key: String, id: String? = nil, _ body: [UInt8], _ exchange: String) -> OutgoingMessage {
        let properties = MessageProperties(contentType: "application/json", messageID: id)
        return OutgoingMessage(exchange: exchange, routingKey: key, properties: properties, body: body)
    }
}
