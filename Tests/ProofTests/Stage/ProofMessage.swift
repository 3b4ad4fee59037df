import AMQP

/// A message and its expected fate.
struct ProofMessage: Sendable {
    enum Fate: Sendable {
        /// One row for each of its users.
        case recorded(event: String, users: [String])
        /// One row among the events that are stored for later or for a large audience.
        case kept(event: String)
        /// A dead letter with this reason and the original bytes.
        case rejected(String)
    }

    let message: OutgoingMessage
    let fate: Fate
    /// The maximum number of deliveries by the broker; a header `CC` adds copies.
    var copies = 1

    var isGood: Bool {
        if case .recorded = fate { true } else { false }
    }
}

/// Events and malformed messages, all different, which are derived from numbers.
struct Traffic {
    let exchange: String

    /// All users of the good events.
    static let users = (0..<97).map { "u\($0)" }

    /// Returns a good event, spread over the three lanes; every tenth one is for three users.
    func good(_ number: Int) -> ProofMessage {
        let users = number % 10 == 0 ? ["u1", "u2", "u3"] : [Self.users[number % Self.users.count]]
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"id":"good-\#(number)","to":{"users":[\#(names)]},"title":"Title \#(number)","body":"Body"}"#
        let types = ["transaction_complete", "security", "rate_update"]
        return ProofMessage(
            message: message("drop.\(types[number % types.count])", body),
            fate: .recorded(event: "good-\(number)", users: users)
        )
    }

    /// Returns a malformed message, each kind in turn.
    func bad(_ number: Int) -> ProofMessage {
        let (key, body, reason) =
            switch number % 6 {
            case 0: ("drop.system", "not JSON, number \(number) {", "malformed-json")
            case 1: ("drop.security", #"{"to":{"user":"u"},"title":"\#(number)"}"#, "missing-id")
            case 2: ("drop.system", #"{"id":"bad-\#(number)","title":"t"}"#, "missing-audience")
            case 3: ("nosuch.system", #"{"id":"bad-\#(number)","to":{"user":"u"},"title":"t"}"#, "unknown-app")
            case 4: ("drop.nosuch", #"{"id":"bad-\#(number)","to":{"user":"u"},"title":"t"}"#, "unknown-type")
            default: ("drop.qr_payment", #"{"id":"bad-\#(number)","to":{"user":"u"},"title":7}"#, "invalid-field")
            }
        return ProofMessage(message: message(key, body), fate: .rejected(reason))
    }

    private func message(_ key: String, _ body: String) -> OutgoingMessage {
        OutgoingMessage(
            exchange: exchange,
            routingKey: key,
            properties: MessageProperties(contentType: "application/json"),
            body: Array(body.utf8)
        )
    }
}
