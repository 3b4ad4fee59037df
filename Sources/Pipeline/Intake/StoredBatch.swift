import Store

/// A batch whose contents are stored; what remains is to send and to dead-letter.
///
/// Its messages are no longer in memory, except invalid ones.
struct StoredBatch: Sendable {
    let batch: Batch
    /// The recorded or claimed notifications.
    let work: ResumeStage.Work
    let rest: Rest
    /// Badge updates.
    ///
    /// They have no row in the ledger, so of their answers only gone devices matter.
    let badges: [OutgoingDelivery]
    /// Invalid messages; a message may occur more than once.
    let undeliverables: [Entry<DeadLetterSource>]
    /// The first pages of events for a wide audience, for which no message exists yet.
    let opened: [Entry<FanoutPage>]
    let pages: Pages

    /// Notifications beyond the limit of one statement; they are processed afterwards.
    struct Rest: Sendable {
        let parts: [[Entry<NotificationKey>]]
        let heirs: Set<Int>
        let decider: Decider
    }

    /// The fan-out pages that a batch names.
    ///
    /// Each is as large as a batch and is processed separately.
    struct Pages: Sendable {
        let batch: Batch
        let arrived: [Entry<PageWork>]
        let heirs: Set<Int>
    }

    /// The bytes in memory while pushes are in flight.
    var sendingWeight: Int { work.shipments.isEmpty ? 0 : work.footprint }

    /// Opens a part of its message for each remaining piece of work.
    func open() {
        work.open(batch)
        batch.messages.open(OutgoingDelivery.indices(of: badges) + undeliverables.map(\.index))
        batch.messages.open(opened.map(\.index) + pages.arrived.map(\.index))
        rest.open(batch)
    }
}

extension StoredBatch.Rest {
    /// Opens a part of its message for each named notification.
    func open(_ batch: Batch) {
        batch.messages.open(parts.flatMap { $0.map(\.index) })
    }
}

extension ResumeStage.Work {
    /// Opens a part of its message for each piece of work.
    func open(_ batch: Batch) {
        batch.messages.open(OutgoingDelivery.indices(of: shipments) + withheld.map(\.index) + waiting)
    }
}
