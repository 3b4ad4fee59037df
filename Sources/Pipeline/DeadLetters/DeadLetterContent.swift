import AMQP
import Cryptography
import Store

/// Identifies equal rejected messages by their content, because quorum queues give a message no identity.
struct DeadLetterContent {
    /// 32 hex digits over the body, the properties, the origin and the producer's headers.
    ///
    /// The broker's headers are excluded, because they change from one delivery of a message to the next.
    let hash: String

    init(_ message: IncomingMessage) {
        var properties = message.properties
        let headers = properties.headers.removing(where: DeadLetterHeaders.belongsToBroker)
        properties.headers = [:]
        self.init(message, AMQPJSON.object(properties), AMQPJSON.object(headers))
    }

    /// Creates the identity of a message without one of our dead-letter ids.
    ///
    /// It includes the queue and the reason of its failure.
    ///
    /// The time, the delivery count and other values that differ between failures of the same content are excluded, so
    /// that a repeated problem is one item. The order of the headers is excluded, too, because the broker changes it
    /// when it adds one.
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
        // Messages that differ only after the cut are different.
        if let cut = message.cut { parts.append(cut.sha256.bytes) }
        for part in parts {
            // The length before each part separates the parts, whatever they contain.
            bytes += Array("\(part.count):".utf8)
            bytes += part
        }
        hash = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
    }
}

/// The headers that state that only the beginning of a body is left.
extension FieldTable {
    mutating func mark(_ cut: BodyTruncation) {
        self[DeadLetterHeaders.bodyCut] = .boolean(true)
        self[DeadLetterHeaders.bodyBytes] = .int64(Int64(clamping: cut.bytes))
        self[DeadLetterHeaders.bodyDigest] = .string(cut.sha256.description)
    }

    /// The cut that a dead letter's headers state; `nil` if the body is complete.
    var cutBody: TruncatedBody? {
        guard self[DeadLetterHeaders.bodyCut] == .boolean(true) else { return nil }
        return TruncatedBody(
            bytes: self[DeadLetterHeaders.bodyBytes]?.integer ?? 0,
            sha256: self[DeadLetterHeaders.bodyDigest]?.text ?? ""
        )
    }
}

extension TruncatedBody {
    /// Creates the value for a body that was cut at its arrival.
    init(_ cut: BodyTruncation) {
        self.init(bytes: cut.bytes, sha256: cut.sha256.description)
    }
}
