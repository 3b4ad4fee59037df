/// How deliveries are tried, held and given up.
package struct DeliveryPolicy: Sendable {
    package let ladder: RetryLadder
    /// How long a claim holds; it must outlast the longest request to a provider.
    package let lease: Duration

    package init(ladder: RetryLadder, lease: Duration) {
        self.ladder = ladder
        self.lease = lease
    }
}
