package import BellhopRules
import Push
package import Store
import Synchronization

/// Which providers have taken nothing of an app since when, as this worker sees it: for people, and nothing goes by it.
///
/// Thread safety: all state is behind one lock.
package final class ProviderStreaks: Sendable {
    private let state = Mutex<[OutletKey: (trouble: ProviderTrouble, latest: Timestamp)]>([:])

    init() {}

    /// Of what nobody has heard for so long, nobody knows any more.
    private static let memory = Duration.seconds(600)

    /// The answers to a batch.
    ///
    /// Whatever lets one message or its device through ends a streak, and so does a message that is refused for itself.
    func note(_ verdicts: [Verdict], _ outlet: OutletKey, at now: Timestamp) {
        guard let word = verdicts.last?.reason?.rawValue, verdicts.allSatisfy(\.saysNothingOfUs) else {
            return state.withLock { $0[outlet] = nil }
        }
        state.withLock { state in
            let fresh = ProviderTrouble(
                app: outlet.app.text,
                provider: outlet.provider,
                word: word,
                since: now,
                answers: 0
            )
            var trouble = state[outlet]?.trouble ?? fresh
            trouble.word = word
            trouble.answers += verdicts.count
            state[outlet] = (trouble, now)
        }
    }

    /// The streaks that go on.
    package func current(at now: Timestamp) -> [ProviderTrouble] {
        state.withLock { state in
            state = state.filter { now.microseconds - $0.value.latest.microseconds < Self.memory.microseconds }
            return state.values.map(\.trouble)
        }
    }
}

extension Verdict {
    /// Whether nothing was taken, and neither the message nor its device was at fault.
    fileprivate var saysNothingOfUs: Bool {
        switch self {
        case .retry, .unknown: true
        case .delivered, .accepted, .deviceGone, .configError, .payloadError: false
        }
    }
}
