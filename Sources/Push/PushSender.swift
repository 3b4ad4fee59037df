package import BellhopRules

/// Brings one app's messages to one provider.
package protocol PushSender: Sendable {
    var provider: PushProvider { get }

    /// How many messages it has under way at most; what it is handed beyond that waits inside it.
    var window: Int { get }

    /// How much its provider takes of us; nil where it sets no limit.
    var budget: PushBudget? { get }

    /// Sends all of `batch` and gives one verdict for each, in the same order, once the last is known.
    ///
    /// Never throws: whatever goes wrong is a verdict. Cancelling the calling task abandons what has no answer yet.
    func send(_ batch: [PushMessage]) async -> [Verdict]
}

extension PushSender {
    // As many as it is handed.
    package var window: Int { .max }
    package var budget: PushBudget? { nil }
}
