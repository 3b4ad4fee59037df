import Synchronization

/// Identifies one delivery, for its settlement.
///
/// It contains the channel's epoch, because numbers start again at 1 on every channel. Without it, a tag of a lost
/// connection would settle another message. Such a tag is ignored silently, and the broker redelivers the message.
package struct DeliveryTag: Sendable, Hashable {
    /// A number that is unique in the process, so that another consumer's tags are rejected too.
    let epoch: UInt64
    let number: UInt64

    private static let latestEpoch = Atomic<UInt64>(0)

    /// Whether both deliveries came on the same channel.
    ///
    /// Messages that were delivered before a connection was lost are delivered again afterwards.
    package func isOfSameConnection(as other: DeliveryTag) -> Bool { epoch == other.epoch }

    /// Whether this delivery's connection was lost before the other one's was opened.
    package func isOfEarlierConnection(than other: DeliveryTag) -> Bool { epoch < other.epoch }

    static func nextEpoch() -> UInt64 {
        latestEpoch.add(1, ordering: .relaxed).newValue
    }
}
