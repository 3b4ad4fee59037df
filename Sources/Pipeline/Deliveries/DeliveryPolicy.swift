/// The limits and delays for the retries and the end of deliveries.
package struct DeliveryPolicy: Sendable {
    package let ladder: RetryLadder
    /// The period for which a claim is valid; it must be longer than the longest request to a provider.
    package let lease: Duration
    /// The first half of the lease, in which a send must begin.
    ///
    /// The other half is for its answer and its settlement.
    var beginsWithin: Duration { lease / 2 }
    /// The times at which providers are polled for receipts.
    package let receipts: ReceiptPolicy

    package init(ladder: RetryLadder, lease: Duration, receipts: ReceiptPolicy = ReceiptPolicy()) {
        self.ladder = ladder
        self.lease = lease
        self.receipts = receipts
    }
}
