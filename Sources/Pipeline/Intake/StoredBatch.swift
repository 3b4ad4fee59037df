import Store

/// What a batch has become once everything of it is stored: what is left is to send, and to dead-letter.
///
/// The messages themselves are forgotten by then, but for those that are at fault.
struct StoredBatch: Sendable {
    let batch: Batch
    /// What was recorded or claimed.
    let work: Resumption.Work
    let rest: Rest
    /// What has no line in the ledger: of the answers only dead devices matter.
    let badges: [Shipment]
    /// What is at fault; a message may be there more than once.
    let undeliverables: [Entry<Undeliverable>]
    /// The first pages of events for a wider audience: no message names them yet.
    let opened: [Entry<FanoutPage>]
    let pages: Pages

    /// What the batch names beyond what one statement may claim: it is taken up afterwards.
    struct Rest: Sendable {
        let parts: [[Entry<NotificationKey>]]
        let heirs: Set<Int>
        let decider: Decider
    }

    /// The pages of fan-outs that a batch names: each is as much as a batch of its own, and goes its way without the rest.
    struct Pages: Sendable {
        let batch: Batch
        let arrived: [Entry<ArrivedPage>]
        let heirs: Set<Int>
    }

    /// Bytes in memory while pushes are under way.
    var sendingWeight: Int { work.shipments.isEmpty ? 0 : work.footprint }

    /// Opens a part of its message for everything that is left to do.
    func open() {
        work.open(batch)
        batch.messages.open(Shipment.indices(of: badges) + undeliverables.map(\.index))
        batch.messages.open(opened.map(\.index) + pages.arrived.map(\.index))
        rest.open(batch)
    }
}

extension StoredBatch.Rest {
    /// Opens a part of its message for each notification that is named.
    func open(_ batch: Batch) {
        batch.messages.open(parts.flatMap { $0.map(\.index) })
    }
}

extension Resumption.Work {
    /// Opens a part of its message for each thing to do.
    func open(_ batch: Batch) {
        batch.messages.open(Shipment.indices(of: shipments) + withheld.map(\.index) + waiting)
    }
}
