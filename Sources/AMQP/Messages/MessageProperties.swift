import CRabbitMQ
import Glibc

/// The properties that AMQP transmits with a body; `nil` values are not transmitted.
///
/// Bytes that are not UTF-8 are kept inside the strings in a private encoding (see `String.init(wire:)`). A message
/// that is published again with its received properties is therefore the same on the wire. Texts may be at most 255
/// bytes long.
package struct MessageProperties: Sendable, Equatable {
    /// The protocol's delivery mode: 1 is transient, 2 is persistent, and a producer may send any other number.
    package struct DeliveryMode: Sendable, Equatable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let transient = DeliveryMode(rawValue: 1)
        package static let persistent = DeliveryMode(rawValue: 2)
    }

    package var contentType: String?
    package var contentEncoding: String?
    /// The headers; an empty table is not transmitted.
    package var headers: FieldTable
    /// Persistent by default; a received message has its producer's value.
    package var deliveryMode: DeliveryMode?
    /// Must be left unset: quorum queues ignore or reinterpret it.
    package var priority: UInt8?
    package var correlationID: String?
    package var replyTo: String?
    /// Milliseconds as text.
    ///
    /// Other text is rejected before sending, because the broker would close the channel.
    package var expiration: String?
    package var messageID: String?
    /// Seconds since 1970.
    package var timestamp: UInt64?
    package var type: String?
    /// Must be the connection's user, or the broker closes the channel.
    package var userID: String?
    package var appID: String?
    package var clusterID: String?

    package init(contentType: String? = nil, messageID: String? = nil, headers: FieldTable = [:]) {
        self.contentType = contentType
        self.messageID = messageID
        self.headers = headers
        deliveryMode = .persistent
    }
}

extension MessageProperties {
    /// Reads the decoded properties of librabbitmq.
    ///
    /// `texts` avoids copies of values that repeat from message to message.
    init(_ raw: amqp_basic_properties_t, _ texts: inout StringCache) {
        let flags = raw._flags
        func has(_ flag: Int32) -> Bool { flags & amqp_flags_t(flag) != 0 }
        contentType = has(AMQP_BASIC_CONTENT_TYPE_FLAG) ? texts.contentType.text(raw.content_type) : nil
        contentEncoding = has(AMQP_BASIC_CONTENT_ENCODING_FLAG) ? String(raw.content_encoding) : nil
        headers = has(AMQP_BASIC_HEADERS_FLAG) ? FieldTableDecoder.table(raw.headers) : [:]
        deliveryMode = has(AMQP_BASIC_DELIVERY_MODE_FLAG) ? DeliveryMode(rawValue: raw.delivery_mode) : nil
        priority = has(AMQP_BASIC_PRIORITY_FLAG) ? raw.priority : nil
        correlationID = has(AMQP_BASIC_CORRELATION_ID_FLAG) ? String(raw.correlation_id) : nil
        replyTo = has(AMQP_BASIC_REPLY_TO_FLAG) ? String(raw.reply_to) : nil
        expiration = has(AMQP_BASIC_EXPIRATION_FLAG) ? String(raw.expiration) : nil
        messageID = has(AMQP_BASIC_MESSAGE_ID_FLAG) ? String(raw.message_id) : nil
        timestamp = has(AMQP_BASIC_TIMESTAMP_FLAG) ? raw.timestamp : nil
        type = has(AMQP_BASIC_TYPE_FLAG) ? texts.type.text(raw.type) : nil
        userID = has(AMQP_BASIC_USER_ID_FLAG) ? String(raw.user_id) : nil
        appID = has(AMQP_BASIC_APP_ID_FLAG) ? texts.appID.text(raw.app_id) : nil
        clusterID = has(AMQP_BASIC_CLUSTER_ID_FLAG) ? String(raw.cluster_id) : nil
    }

    /// Writes the properties into `arena`, and returns their maximum size in a header frame in bytes.
    func written(in arena: WireArena) throws(AMQPError) -> (raw: amqp_basic_properties_t, size: Int) {
        var raw = amqp_basic_properties_t()
        // Flags, one byte each for delivery mode and priority, eight for the timestamp.
        var size = 12
        func set(_ flag: Int32) { raw._flags |= amqp_flags_t(flag) }
        func text(_ value: String?, _ flag: Int32, _ name: String) throws(AMQPError) -> amqp_bytes_t {
            guard let value else { return amqp_bytes_t(len: 0, bytes: nil) }
            set(flag)
            let bytes = try arena.short(value, "the property \(name)")
            size += 1 + bytes.len
            return bytes
        }
        raw.content_type = try text(contentType, AMQP_BASIC_CONTENT_TYPE_FLAG, "content_type")
        raw.content_encoding = try text(contentEncoding, AMQP_BASIC_CONTENT_ENCODING_FLAG, "content_encoding")
        raw.correlation_id = try text(correlationID, AMQP_BASIC_CORRELATION_ID_FLAG, "correlation_id")
        raw.reply_to = try text(replyTo, AMQP_BASIC_REPLY_TO_FLAG, "reply_to")
        raw.expiration = try text(checkedExpiration(), AMQP_BASIC_EXPIRATION_FLAG, "expiration")
        raw.message_id = try text(messageID, AMQP_BASIC_MESSAGE_ID_FLAG, "message_id")
        raw.type = try text(type, AMQP_BASIC_TYPE_FLAG, "type")
        raw.user_id = try text(userID, AMQP_BASIC_USER_ID_FLAG, "user_id")
        raw.app_id = try text(appID, AMQP_BASIC_APP_ID_FLAG, "app_id")
        raw.cluster_id = try text(clusterID, AMQP_BASIC_CLUSTER_ID_FLAG, "cluster_id")
        if let deliveryMode {
            set(AMQP_BASIC_DELIVERY_MODE_FLAG)
            raw.delivery_mode = deliveryMode.rawValue
        }
        if let priority {
            set(AMQP_BASIC_PRIORITY_FLAG)
            raw.priority = priority
        }
        if let timestamp {
            set(AMQP_BASIC_TIMESTAMP_FLAG)
            raw.timestamp = timestamp
        }
        guard !headers.isEmpty else { return (raw, size) }
        set(AMQP_BASIC_HEADERS_FLAG)
        var writer = FieldTableEncoder(arena)
        raw.headers = try writer.table(headers)
        return (raw, size + writer.size)
    }

    /// Returns the expiration if it is a number of milliseconds; for any other text, the broker closes the channel
    /// (406).
    private func checkedExpiration() throws(AMQPError) -> String? {
        guard let expiration else { return nil }
        let isNumber = !expiration.isEmpty && expiration.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, UInt32(expiration) != nil else {
            throw AMQPError(.invalidArgument, "the property expiration is not a number of milliseconds")
        }
        return expiration
    }
}

/// The latest text of each field that tends to repeat among the messages of one queue.
///
/// Comparing bytes is cheaper than allocating the string again.
struct StringCache {
    struct Place {
        private var latest = ""

        mutating func text(_ bytes: amqp_bytes_t) -> String {
            let isSame = latest.utf8.withContiguousStorageIfAvailable { known in
                guard known.count == bytes.len, let start = known.baseAddress, let other = bytes.bytes else {
                    return known.count == bytes.len
                }
                return memcmp(start, other, known.count) == 0
            }
            if isSame != true { latest = String(bytes) }
            return latest
        }
    }

    var exchange = Place()
    var routingKey = Place()
    var contentType = Place()
    var type = Place()
    var appID = Place()
}
