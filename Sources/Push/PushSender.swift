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

/// A provider's source of later reports on accepted messages.
package protocol ReceiptSource: Sendable {
    var provider: PushProvider { get }

    /// Requests the results for all of `tickets` and returns one answer for each, in the same order.
    ///
    /// The function never throws, and can be called again at any time, because requests change nothing.
    func ask(_ tickets: [String]) async -> [ReceiptAnswer]
}

/// A provider's answer about a ticket.
package enum ReceiptAnswer: Hashable, Sendable {
    /// The result is known: the message was delivered, the device is gone, or the verdict is a retry, a configuration
    /// error or a permanent rejection.
    case known(Verdict)
    /// The provider has no result yet, or no longer has it.
    case missing
    /// The request failed for this reason; it must not be repeated before the given wait.
    case unanswered(VerdictReason, notBefore: Duration)
}
