import Store
import Tracing

/// The remaining work when a batch, a page of a fan-out or a part of resumed notifications is stored: to send and to
/// dead-letter.
struct PendingWork: Sendable {
    /// Claimed deliveries to send.
    var shipments: [OutgoingDelivery] = []
    /// The size of the shipments' texts in bytes.
    var footprint = 0
    /// The trace of the shipments; `nil` if they belong to the traces of their events.
    var trace: SpanContext?
    /// Badge updates.
    ///
    /// They have no row in the ledger, so of their answers only gone devices matter.
    var badges: [OutgoingDelivery] = []
    /// Claimed deliveries that are no longer to be sent.
    var withheld: [Disposition] = []
    /// Notifications that are claimed by another batch or locked.
    ///
    /// They are tried again when the lease has ended, or soon.
    var later: [ResumeSender.Route: [NotificationKey]] = [:]
    /// The positions of the messages that named these notifications.
    var waiting: [Int] = []
    /// Invalid messages; a message may occur more than once.
    var deadLetters: [Entry<DeadLetterSource>] = []
    /// The first pages of events for a wide audience, for which no message exists yet.
    var opened: [Entry<FanoutPage>] = []
    var rest: Rest?

    /// Notifications beyond the limit of one statement; they are processed afterwards.
    struct Rest: Sendable {
        let parts: [[Entry<NotificationKey>]]
        let replacements: Set<Int>
        let decider: Decider
        /// Whether the parts keep the batch's claim, which then owns deliveries whose recording was answered too late.
        ///
        /// No two parts may name the same notification then. Otherwise, the first part processes it.
        var keepsClaim = false
    }

    /// The bytes in memory while pushes are in flight.
    var weight: Int { shipments.isEmpty ? 0 : footprint }

    /// The message positions of all pieces of work, one for each; ``OpenMessages`` counts them.
    var positions: [Int] {
        var positions = OutgoingDelivery.indices(of: shipments)
        positions += OutgoingDelivery.indices(of: badges)
        positions += withheld.lazy.map(\.index)
        positions += waiting
        positions += deadLetters.lazy.map(\.index)
        positions += opened.lazy.map(\.index)
        for part in rest?.parts ?? [] { positions += part.lazy.map(\.index) }
        return positions
    }

    /// Adds resumed notifications of the same batch.
    static func += (work: inout PendingWork, more: PendingWork) {
        work.shipments += more.shipments
        work.footprint += more.footprint
        work.withheld += more.withheld
        work.later.merge(more.later) { $0 + $1 }
        work.waiting += more.waiting
    }
}

/// A batch whose contents are stored.
///
/// Its messages are no longer in memory, except invalid ones and pages.
struct StoredBatch: Sendable {
    let batch: Batch
    let work: PendingWork
    /// The fan-out pages that its messages name.
    ///
    /// Each is as large as a batch and is processed separately.
    let pages: [Entry<PageWork>]
}
