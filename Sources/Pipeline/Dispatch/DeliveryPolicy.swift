/// How deliveries are tried, held and given up.
package struct DeliveryPolicy: Sendable {
    package let ladder: RetryLadder
    /// How long a claim holds; it must outlast the longest request to a provider.
    package let lease: Duration
    /// When providers that answer later are asked.
    package let receipts: ReceiptPolicy

    package init(ladder: RetryLadder, lease: Duration, receipts: ReceiptPolicy = ReceiptPolicy()) {
        self.ladder = ladder
        self.lease = lease
        self.receipts = receipts
    }
}
