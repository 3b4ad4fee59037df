import AMQP
import BellhopRules
import IntegrationSupport

@testable import Pipeline

/// Predicts the fate of a message by the rules in the test process; the worker in another process must agree.
struct MessagePrediction {
    private let catalogs: CatalogSet
    private let events: String
    private var seen: Set<String> = []

    init(events: String) throws {
        catalogs = try ServerFixture.shipped()
        self.events = events
    }

    /// Returns the message with its fate.
    ///
    /// The result is `nil` if the fate depends on another message with the same id, or on the release of the broker:
    /// two CloudEvents headers of one name may differ, and from 3.13 on only the first arrives.
    mutating func piece(_ message: OutgoingMessage, copies: Int = 1) -> ProofMessage? {
        let attributes = message.properties.headers.entries.map(\.name).filter { $0.hasPrefix("cloudEvents") }
        guard Set(attributes).count == attributes.count else { return nil }
        var envelope = InboundEnvelope(
            body: message.body,
            source: message.exchange == events ? .eventsExchange(routingKey: message.routingKey) : .elsewhere
        )
        envelope.contentType = message.properties.contentType
        envelope.messageID = message.properties.messageID
        envelope.appID = message.properties.appID
        envelope.type = message.properties.type
        envelope.timestamp = message.properties.timestamp
        envelope.headers = message.properties.headers.entries.map { ($0.name, HeaderValue($0.value)) }
        guard let fate = fate(of: envelope) else { return nil }
        return ProofMessage(message: message, fate: fate, copies: copies)
    }

    private mutating func fate(of envelope: InboundEnvelope) -> ProofMessage.Fate? {
        switch SubmissionParser(catalogs).parse(envelope) {
        case .failure(let rejection): return .rejected(rejection.reason.rawValue)
        case .success(.event(let event)):
            guard let catalog = catalogs[event.app] else { return nil }
            if case .failure(let rejection) = catalog.render(event, language: nil) {
                return .rejected(rejection.reason.rawValue)
            }
            guard seen.insert(event.id.text).inserted else { return nil }
            guard event.deliverAt == nil, case .users(let users) = event.audience else {
                return .kept(event: event.id.text)
            }
            return .recorded(event: event.id.text, users: users.map(\.text))
        case .success(.cancellation(_, let id)):
            return seen.insert(id.text).inserted ? .kept(event: id.text) : nil
        case .success(.feed), .success(.ignored): return nil
        }
    }
}
