import CRabbitMQ
package import Cryptography

/// A message with its header and its whole body.
///
/// It is an object because all copies of a received message share it.
final class AssembledMessage: Sendable {
    let exchange: String
    let routingKey: String
    let properties: MessageProperties
    let body: [UInt8]
    /// The original size and digest, if only the beginning of the body was kept.
    let cut: BodyTruncation?
    /// Its approximate size in memory: the bytes of its header and body.
    let cost: Int

    init(
        exchange: String,
        routingKey: String,
        properties: MessageProperties,
        body: [UInt8],
        cut: BodyTruncation? = nil,
        headerSize: Int = 0
    ) {
        self.exchange = exchange
        self.routingKey = routingKey
        self.properties = properties
        self.body = body
        self.cut = cut
        cost = body.count + headerSize
    }
}

/// A message that was delivered to a consumer or fetched.
struct Delivery {
    /// The index of its subscription; 0 for a fetched message.
    var subscription: Int
    var number: UInt64
    var redelivered: Bool
    var message: AssembledMessage
}

/// Assembles the frames of one content: a method that announces it, a header and any number of body frames.
///
/// librabbitmq's `amqp_read_message` is not used: it waits without limit, drops frames of other channels, fails on an
/// empty header name and copies everything twice.
struct MessageAssembler {
    /// The method that announced the content.
    enum Purpose {
        case delivery(subscription: Int, number: UInt64, redelivered: Bool)
        case returned(reason: String)
    }

    enum Content {
        case delivery(Delivery)
        case returned(reason: String, AssembledMessage)
    }

    private var purpose: Purpose?
    private var exchange = ""
    private var routingKey = ""
    /// The properties of the header; `nil` before it and when the message has taken them.
    private var properties: MessageProperties?
    private var body: [UInt8] = []
    private var hasHeader = false
    private var headerSize = 0
    private var missing: UInt64 = 0
    private var texts = StringCache()
    /// The size above which only the beginning of a body is kept.
    private let whole: Int
    private var skim: OversizedBodyReader?

    /// Creates an assembler that keeps only the beginning of bodies larger than `whole`.
    init(whole: Int = .max) { self.whole = whole }

    /// Whether a content has begun and is not complete.
    var isExpectingFrames: Bool { purpose != nil }

    /// The delivery whose header is expected next.
    var deliveryWithoutHeader: (subscription: Int, number: UInt64)? {
        guard !hasHeader, case .delivery(let subscription, let number, _) = purpose else { return nil }
        return (subscription, number)
    }

    mutating func begin(_ purpose: Purpose, exchange: amqp_bytes_t, routingKey: amqp_bytes_t) {
        self.purpose = purpose
        hasHeader = false
        self.exchange = texts.exchange.text(exchange)
        self.routingKey = texts.routingKey.text(routingKey)
        body = []
        skim = nil
    }

    /// Processes a header frame; the content is complete if it has no body.
    mutating func header(_ frame: amqp_frame_t) throws(AMQPError) -> Content? {
        let header = frame.payload.properties
        guard purpose != nil, !hasHeader, Int32(header.class_id) == AMQP_BASIC_CLASS,
            let decoded = header.decoded
        else { throw Self.outOfPlace("a header frame") }
        properties = MessageProperties(
            decoded.assumingMemoryBound(to: amqp_basic_properties_t.self).pointee,
            &texts
        )
        hasHeader = true
        headerSize = header.raw.len
        missing = header.body_size
        guard missing > 0 else { return finish() }
        if missing > UInt64(clamping: whole) { skim = OversizedBodyReader(keeping: min(BodyLimits.kept, whole)) }
        // The size is only the sender's claim: memory beyond this is allocated as the bytes arrive.
        body.reserveCapacity(Int(min(missing, 1 << 20)))
        return nil
    }

    /// Processes a body frame; the content is complete with the last one.
    mutating func body(_ fragment: amqp_bytes_t) throws(AMQPError) -> Content? {
        guard purpose != nil, hasHeader, UInt64(fragment.len) <= missing else { throw Self.outOfPlace("a body frame") }
        let bytes = UnsafeRawBufferPointer(start: fragment.bytes, count: fragment.len)
        if skim == nil { body.append(contentsOf: bytes) } else { skim?.take(bytes, into: &body) }
        missing -= UInt64(fragment.len)
        return missing == 0 ? finish() : nil
    }

    private mutating func finish() -> Content? {
        guard let purpose, let properties = properties.take() else { return nil }
        self.purpose = nil
        let message = AssembledMessage(
            exchange: exchange,
            routingKey: routingKey,
            properties: properties,
            body: body,
            cut: skim?.finish(),
            headerSize: headerSize
        )
        body = []
        switch purpose {
        case .delivery(let subscription, let number, let redelivered):
            return .delivery(
                Delivery(subscription: subscription, number: number, redelivered: redelivered, message: message)
            )
        case .returned(let reason): return .returned(reason: reason, message)
        }
    }

    private static func outOfPlace(_ what: String) -> AMQPError {
        AMQPError(.protocolViolation, "the broker sent \(what) out of place; the connection is given up")
    }
}

/// Size limits for bodies.
package enum BodyLimits {
    /// The default limit of RabbitMQ 4 (3.x: 128 MiB), above which a body could not be published again.
    package static let whole = 16 << 20
    /// The number of bytes that are kept of a larger body.
    package static let kept = 256 << 10
}

/// Facts about a body of which only the beginning was kept: its size and the digest of the whole body.
///
/// The digest identifies the original.
package struct BodyTruncation: Sendable, Equatable {
    package let bytes: Int
    package let sha256: Digest

    package init(bytes: Int, sha256: Digest) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// Describes a complete body.
    package init(of body: [UInt8]) { self.init(bytes: body.count, sha256: SHA256.digest(of: body)) }
}

/// Reads a body that is too large to be kept: it keeps the beginning, and counts and hashes the rest.
struct OversizedBodyReader {
    private let digest = SHA256Stream()
    private let kept: Int
    private var bytes = 0

    init(keeping kept: Int) { self.kept = kept }

    mutating func take(_ fragment: UnsafeRawBufferPointer, into body: inout [UInt8]) {
        digest.add(fragment)
        bytes += fragment.count
        body.append(contentsOf: fragment.prefix(max(0, kept - body.count)))
    }

    func finish() -> BodyTruncation { BodyTruncation(bytes: bytes, sha256: digest.finish()) }
}
