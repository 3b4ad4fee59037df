/// The properties that AMQP carries beside a body; what is `nil` does not travel.
///
/// Bytes that are not UTF-8 are kept inside the strings in a private encoding (see `String.init(wire:)`), so that a
/// message published with the properties it came with is the same on the wire. Texts may be at most 255 bytes long.
package struct MessageProperties: Sendable, Equatable {
    /// The protocol's numbers are open: 1 is transient, 2 persistent, and a producer may send any other.
    package struct DeliveryMode: Sendable, Equatable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let transient = DeliveryMode(rawValue: 1)
        package static let persistent = DeliveryMode(rawValue: 2)
    }

    package var contentType: String?
    package var contentEncoding: String?
    /// An empty table does not travel.
    package var headers: FieldTable
    /// Persistent unless said otherwise; a received message has what its producer sent.
    package var deliveryMode: DeliveryMode?
    /// Leave unset: quorum queues ignore or reinterpret it.
    package var priority: UInt8?
    package var correlationID: String?
    package var replyTo: String?
    /// Milliseconds as text; anything else is refused before sending, since it would cost the channel.
    package var expiration: String?
    package var messageID: String?
    /// Seconds since 1970.
    package var timestamp: UInt64?
    package var type: String?
    /// Must be the connection's own user, or the broker closes the channel.
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
