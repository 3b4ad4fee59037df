package import BellhopRules

/// Sends one app's messages to one provider.
package protocol PushSender: Sendable {
    var provider: PushProvider { get }

    /// The maximum number of messages in flight; further messages of a batch wait inside the sender.
    var window: Int { get }

    /// The provider's rate limit; `nil` if it has none.
    var budget: PushBudget? { get }

    /// Sends all of `batch` and returns one verdict for each, in the same order, after the last one is known.
    ///
    /// The function never throws: every failure is a verdict. Cancelling the calling task abandons messages without an
    /// answer.
    func send(_ batch: [PushMessage]) async -> [Verdict]
}

extension PushSender {
    // Without a limit, all messages of a batch are in flight.
    package var window: Int { .max }
    package var budget: PushBudget? { nil }
}
