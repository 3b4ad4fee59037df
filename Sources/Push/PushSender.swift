package import BellhopRules

/// Brings one app's messages to one provider.
package protocol PushSender: Sendable {
    var provider: PushProvider { get }

    /// Sends all of `batch` and gives one verdict for each, in the same order, once the last is known.
    ///
    /// Never throws: whatever goes wrong is a verdict. Cancelling the calling task abandons what has no answer yet.
    func send(_ batch: [PushMessage]) async -> [Verdict]
}
