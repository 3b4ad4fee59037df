/// When a provider is asked what became of what it took.
package struct ReceiptPolicy: Sendable {
    /// How long after the send the first question comes.
    package var firstLook: Duration
    /// From here on, counted from the send, an answer that is missing stays missing: the provider has thrown it away.
    package var horizon: Duration
    /// How long a question rests at least that failed itself.
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

    /// How long after a look in vain the next one comes; nil where there is to be none.
    ///
    /// A look comes when the time since the send has doubled: 15, 30 minutes, 1, 2, 4, 8, 16 hours, and the last one at the
    /// horizon.
    func wait(atAge age: Duration) -> Duration? {
        guard age < horizon else { return nil }
        return max(firstLook, min(age, horizon - age))
    }
}
