package import AMQP
package import BellhopRules

/// A message that a worker would accept, in the form in which its producer wrote it.
///
/// Another application's message that a mapping has converted is published as the event.
package struct ValidEvent: Sendable {
    package let submission: Submission
    private let envelope: InboundEnvelope

    /// Creates the event; `submission` is the judgement of `envelope`.
    package init(_ submission: Submission, in envelope: InboundEnvelope) {
        self.submission = submission
        self.envelope = envelope
    }

    /// Returns the message with the body and the headers of the envelope.
    ///
    /// The routing key and the properties repeat parts of the body, for operators who inspect messages at the broker.
    package func message(to exchange: String) -> OutgoingMessage {
        if case .event(let event) = submission, event.mapping != nil { return Self.message(of: event, to: exchange) }
        var properties = MessageProperties(contentType: envelope.contentType ?? "application/json")
        properties.headers = FieldTable(envelope.headers.compactMap(Self.entry))
        // AMQP limits short strings to 255 bytes, and so does Bellhop the ids of events.
        if case .event(let event) = submission { properties.messageID = event.id.text }
        return OutgoingMessage(
            exchange: exchange,
            routingKey: submission.routingKey,
            properties: properties,
            body: envelope.body
        )
    }

    private static func message(of event: Event, to exchange: String) -> OutgoingMessage {
        OutgoingMessage(
            exchange: exchange,
            routingKey: "\(event.app).\(event.type)",
            properties: MessageProperties(contentType: "application/json", messageID: event.id.text),
            body: event.plainForm()
        )
    }

    private static func entry(_ header: (name: String, value: HeaderValue)) -> FieldTable.Entry? {
        switch header.value {
        case .string(let text): FieldTable.Entry(header.name, .string(text))
        case .integer(let number): FieldTable.Entry(header.name, .int64(number))
        case .other: nil
        }
    }
}

extension Submission {
    package var app: AppID {
        switch self {
        case .event(let event): event.app
        case .feed(let update): update.app
        case .cancellation(let app, _), .ignored(let app, _): app
        }
    }

    /// The name of the event type, the feed message, the cancellation or the mapping.
    package var typeName: String {
        switch self {
        case .event(let event): event.type.text
        case .feed(let update): update.change.type.rawValue
        case .cancellation: SubmissionParser.cancellationType
        case .ignored(_, let mapping): mapping.text
        }
    }

    package var routingKey: String { "\(app).\(typeName)" }
}
