import AMQP
import Cryptography

/// What makes two rejected messages the same message, as far as anyone can tell: quorum queues give a message no name.
struct DeadLetterContent {
    /// 32 hex digits over body, properties, origin and the producer's headers.
    ///
    /// The broker's own headers stay out: they
    /// change from one delivery of a message to the next.
    let hash: String

    init(_ message: IncomingMessage) {
        var properties = message.properties
        let headers = properties.headers.removing(where: DeadLetterHeaders.belongsToBroker)
        properties.headers = [:]
        self.init(message, AMQPJSON.object(properties), AMQPJSON.object(headers))
    }

    /// For a message that no letter of ours names: where and of what it died is part of what it is.
    ///
    /// When it died, how often it has been handed out and what else changes from one death of a content to the next stays
    /// out, so that the same trouble is the same item however often it comes; so does the order of the headers, which the
    /// broker changes when it adds one.
    init(_ message: IncomingMessage, diedIn queue: String, of reason: String) {
        let own = message.properties.headers.removing(where: DeadLetterHeaders.belongsToBroker)
        let headers = FieldTable(own.entries.sorted { $0.name < $1.name })
        let death: FieldTable = ["queue": .string(queue), "reason": .string(reason), "headers": .table(headers)]
        var properties = message.properties
        properties.headers = [:]
        self.init(message, AMQPJSON.object(properties), AMQPJSON.object(death))
    }

    private init(_ message: IncomingMessage, _ properties: [UInt8], _ headers: [UInt8]) {
        var bytes: [UInt8] = []
        var parts = [Array(message.exchange.utf8), Array(message.routingKey.utf8), properties, headers, message.body]
        // What was cut off makes a difference, too.
        if let cut = message.cut { parts.append(cut.sha256.bytes) }
        for part in parts {
            // The length before each part keeps them apart, whatever they contain.
            bytes += Array("\(part.count):".utf8)
            bytes += part
        }
        hash = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
    }
}
