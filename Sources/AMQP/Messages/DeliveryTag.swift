import Synchronization

/// Names one delivery, for settling it.
///
/// It remembers the channel it belongs to: numbers start again at 1 on every channel, so a tag that outlived its
/// connection would settle somebody else's message. Such a tag is silently dropped; the broker redelivers the message.
package struct DeliveryTag: Sendable, Hashable {
    /// Unique in the process, so that another consumer's tag is foreign too.
    let epoch: UInt64
    let number: UInt64

    private static let latestEpoch = Atomic<UInt64>(0)

    /// Whether nothing came between the two: what was delivered before a connection was lost is delivered again after.
    package func isOfSameConnection(as other: DeliveryTag) -> Bool { epoch == other.epoch }

    /// Whether the connection of this one was lost before that of the other one was opened.
    package func isOfEarlierConnection(than other: DeliveryTag) -> Bool { epoch < other.epoch }

    static func nextEpoch() -> UInt64 {
        latestEpoch.add(1, ordering: .relaxed).newValue
    }
}
