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
