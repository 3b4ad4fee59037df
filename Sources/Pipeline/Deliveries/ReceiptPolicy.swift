/// The times at which a provider is polled for receipts of accepted pushes.
package struct ReceiptPolicy: Sendable {
    /// The time between the send and the first poll.
    package var firstLook: Duration
    /// The age of a send after which a missing receipt is final, because the provider has deleted it.
    package var horizon: Duration
    /// The shortest pause after a failed poll.
    package var pause: Duration

    package init(
        firstLook: Duration = .seconds(15 * 60),
        horizon: Duration = .seconds(24 * 3600),
        pause: Duration = .seconds(60)
    ) {
        self.firstLook = firstLook
        self.horizon = horizon
        self.pause = pause
    }

    /// Returns the wait before the next poll after one without a receipt; `nil` if no further poll follows.
    ///
    /// A poll follows when the time since the send has doubled: after 15 and 30 minutes, after 1, 2, 4, 8 and 16 hours,
    /// and finally at the horizon.
    func wait(atAge age: Duration) -> Duration? {
        guard age < horizon else { return nil }
        return max(firstLook, min(age, horizon - age))
    }
}
