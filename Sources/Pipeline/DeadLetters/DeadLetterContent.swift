import AMQP
import Cryptography

/// What makes two rejected messages the same message, as far as anyone can tell: quorum queues give a message no name.
struct DeadLetterContent {
    /// 32 hex digits over body, properties, origin and the producer's headers.
    ///
    /// The broker's own headers stay out: they change from one delivery of a message to the next. In the others, whatever
    /// a broker may change is settled first.
    let hash: String

    init(_ message: IncomingMessage) {
        var properties = message.properties
        let headers = properties.headers.removing(where: DeadLetterHeaders.belongsToBroker)
        properties.headers = [:]
        self.init(message, AMQPJSON.object(properties), AMQPJSON.object(headers.settled))
    }

    /// For a message that the broker itself dead-lettered: its death is part of what it is; how often the letter was
    /// delivered since is not.
    init(death message: IncomingMessage) {
        let headers = message.properties.headers.removing(where: DeadLetterHeaders.countsDeliveries)
        self.init(message, AMQPJSON.object(message.properties), AMQPJSON.object(headers.settled))
    }

    private init(_ message: IncomingMessage, _ properties: [UInt8], _ headers: [UInt8]) {
        var bytes: [UInt8] = []
        let parts = [Array(message.exchange.utf8), Array(message.routingKey.utf8), properties, headers, message.body]
        for part in parts {
            // The length before each part keeps them apart, whatever they contain.
            bytes += Array("\(part.count):".utf8)
            bytes += part
        }
        hash = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
    }
}
