import Store

/// What a batch has become once everything of it is stored: what is left is to send, and to dead-letter.
///
/// The messages themselves are forgotten by then, but for those that are at fault.
struct StoredBatch: Sendable {
    let batch: Batch
    let shipments: [Shipment]
    /// Bytes of what the notifications say.
    let footprint: Int
    /// What has no line in the ledger: of the answers only dead devices matter.
    let badges: [Shipment]
    /// Claimed, and not to be sent any more.
    let withheld: [Disposition]
    /// In the hands of another: looked at again later.
    let later: [ResumeSender.Way: [NotificationKey]]
    /// The positions of the messages that named those.
    let waiting: [Int]
    /// What is at fault; a message may be there more than once.
    let undeliverables: [Entry<Undeliverable>]

    /// Bytes in memory while pushes are under way.
    var sendingWeight: Int { shipments.isEmpty ? 0 : footprint }

    /// Opens a part of its message for everything that is left to do.
    func open() {
        batch.messages.open(Shipment.indices(of: shipments + badges))
        batch.messages.open(withheld.map(\.index) + waiting + undeliverables.map(\.index))
    }
}
