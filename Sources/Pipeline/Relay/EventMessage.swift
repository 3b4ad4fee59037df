import AMQP
import BellhopRules

/// The message in which a relay publishes an event that no catalogue has judged.
enum EventMessage {
    /// Makes the message.
    ///
    /// A valid event gets the same message as from `bellhop publish`. Any other body is published as it is: a worker
    /// rejects it with its reason, and it becomes a dead letter. Without names for a routing key it goes to the queue for
    /// unknown keys.
    static func make(unjudged body: [UInt8], to exchange: String) -> OutgoingMessage {
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
