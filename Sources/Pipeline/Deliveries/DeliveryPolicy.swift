/// How deliveries are tried, held and given up.
package struct DeliveryPolicy: Sendable {
    package let ladder: RetryLadder
    /// How long a claim holds; it must outlast the longest request to a provider.
    package let lease: Duration
    /// A delivery begins in the first half of its lease: the other half is for its answer and its settlement.
    var beginsWithin: Duration { lease / 2 }
    /// When providers that answer later are asked.
    package let receipts: ReceiptPolicy

    package init(ladder: RetryLadder, lease: Duration, receipts: ReceiptPolicy = ReceiptPolicy()) {
        self.ladder = ladder
        self.lease = lease
        self.receipts = receipts
    }
}
