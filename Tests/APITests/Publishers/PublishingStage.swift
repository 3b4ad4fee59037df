import AMQP
import API
import BellhopRules
import HTTPServer
import Publishing
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

/// The route for publishers with a broker in memory.
struct PublishingStage: Sendable {
    /// Answers every message with the current outcome, and keeps it.
    final class Broker: Sendable {
        private struct State {
            var lookUps = 0
            var messages: [OutgoingMessage] = []
            var outcome = PublishOutcome.confirmed
            var obstacle: String?
        }

        private let state = Mutex(State())

        /// The number of times that the owner of a token was looked up.
        var lookUps: Int { state.withLock { $0.lookUps } }
        var messages: [OutgoingMessage] { state.withLock { $0.messages } }
        var outcome: PublishOutcome {
            get { state.withLock { $0.outcome } }
            set { state.withLock { $0.outcome = newValue } }
        }
        var obstacle: String? {
            get { state.withLock { $0.obstacle } }
            set { state.withLock { $0.obstacle = newValue } }
        }

        func noteLookUp() { state.withLock { $0.lookUps += 1 } }

        func publish(_ messages: [OutgoingMessage]) -> [PublishOutcome] {
            state.withLock { state in
                state.messages += messages
                return messages.map { _ in state.outcome }
            }
        }
    }

    let api: APIFixture
    let broker: Broker
    private let tokens: [String: String]

    /// Runs a body with the publishers `shop` (all event types of drop), `till` (`qr_payment` and
    /// `recipient.upserted`), `wallet` (safe's `CONFIRMATION_REQUEST`) and `lost` (of an app without a catalogue).
    static func with(
        rate: Int? = nil,
        addresses: Int? = nil,
        limits: EventPublisher.Limits = .init(),
        time: any TimeSource = SystemTime(),
        _ body: (PublishingStage) async throws -> Void
    ) async throws {
        let drop = try #require(AppID(validating: "drop"))
        let safe = try #require(AppID(validating: "safe"))
        let request = try #require(EventType(validating: "CONFIRMATION_REQUEST"))
        let nowhere = try #require(AppID(validating: "nowhere"))
        let few = ["qr_payment", "recipient.upserted"].compactMap(EventType.init(validating:))
        let made = [
            try PublisherAccount.registered(as: "shop", app: drop, types: nil),
            try PublisherAccount.registered(as: "till", app: drop, types: few),
            try PublisherAccount.registered(as: "wallet", app: safe, types: [request]),
            try PublisherAccount.registered(as: "lost", app: nowhere, types: nil),
        ]
        let file = PublisherFile(made.map(\.account))
        let broker = Broker()
        let publisher = EventPublisher(
            to: "x.events",
            limits: limits,
            obstacle: { broker.obstacle },
            publish: { broker.publish($0) }
        )
        let tokens = Dictionary(uniqueKeysWithValues: made.map { ($0.account.name, $0.token) })
        try await APIFixture.with(
            rates: CallRates(user: nil, address: addresses, publisher: rate),
            time: time,
            publishing: PublishingAccess(
                publishers: {
                    broker.noteLookUp()
                    return file
                },
                events: publisher
            )
        ) { api in
            try await body(PublishingStage(api: api, broker: broker, tokens: tokens))
        }
    }

    func token(_ name: String) throws -> String { try #require(tokens[name]) }

    /// Posts a body as a publisher.
    func post(
        _ body: String?,
        _ type: String = "application/json",
        as name: String = "shop",
        _ headers: [(String, String)] = []
    ) async throws -> APIFixture.Answer {
        var fields = HTTPHeaders()
        fields.add("Authorization", "Bearer \(try token(name))")
        if body != nil { fields.add("Content-Type", type) }
        for (name, value) in headers { fields.add(name, value) }
        return try await api.call("POST", "/api/events", body, as: nil, headers: fields)
    }

    /// Returns the plain form of an event.
    static func event(_ id: String, type: String = "qr_payment") -> String {
        #"{"id":"\#(id)","eventType":"\#(type)","to":{"user":"ada"},"title":"QR","body":"129 kr"}"#
    }

    /// Returns the structured form of the same event.
    static func cloudEvent(_ id: String, type: String = "qr_payment") -> String {
        """
        {"specversion":"1.0","id":"\(id)","source":"/till","type":"\(type)",
         "data":{"to":{"user":"ada"},"title":"QR","body":"129 kr"}}
        """
    }
}
