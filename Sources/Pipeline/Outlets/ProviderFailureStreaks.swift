package import BellhopRules
import Push
package import Store
import Synchronization

/// The providers that have accepted nothing from an app for some time, as this worker sees it.
///
/// It is information for operators; no decision depends on it.
///
/// Thread safety: all state is behind one lock.
package final class ProviderFailureStreaks: Sendable {
    private let state = Mutex<[OutletKey: Streak]>([:])

    /// A streak of failures, which operators should see, or the success that ended it.
    ///
    /// A success refutes the streaks of other workers.
    private enum Streak {
        case refusing(ProviderOutage)
        case taking(Timestamp)

        var latest: Timestamp {
            switch self {
            case .refusing(let trouble): trouble.latest
            case .taking(let at): at
            }
        }
    }

    init() {}

    /// The period after which a streak without new answers is forgotten.
    private static let memory = Duration.seconds(600)

    /// Notes the answers to a batch.
    ///
    /// A streak ends with every answer that accepts a message or concerns its device, and with a message that is
    /// rejected for its own content.
    func note(_ verdicts: [Verdict], _ outlet: OutletKey, at now: Timestamp) {
        guard let last = verdicts.last else { return }
        guard let word = last.reason?.rawValue, verdicts.allSatisfy(\.saysNothingOfUs) else {
            let isTaking = verdicts.contains(where: \.isTaking)
            return state.withLock { $0[outlet] = isTaking ? .taking(now) : nil }
        }
        state.withLock { state in
            var trouble = ProviderOutage(
                app: outlet.app.text,
                provider: outlet.provider,
                word: word,
                since: now,
                latest: now,
                answers: 0
            )
            if case .refusing(let earlier)? = state[outlet] { trouble = earlier }
            trouble.word = word
            trouble.latest = now
            trouble.answers += verdicts.count
            state[outlet] = .refusing(trouble)
        }
    }

    /// Returns the current streaks, and the successes that ended others.
    package func current(at now: Timestamp) -> (troubles: [ProviderOutage], takings: [ProviderSuccess]) {
        let known = state.withLock { state in
            state = state.filter { now.microseconds - $0.value.latest.microseconds < Self.memory.microseconds }
            return state
        }
        var (troubles, takings): ([ProviderOutage], [ProviderSuccess]) = ([], [])
        for (outlet, streak) in known {
            switch streak {
            case .refusing(let trouble): troubles.append(trouble)
            case .taking(let at):
                takings.append(ProviderSuccess(app: outlet.app.text, provider: outlet.provider, at: at))
            }
        }
        return (troubles, takings)
    }
}

extension Verdict {
    /// Whether nothing was accepted, and neither the message nor its device was at fault.
    fileprivate var saysNothingOfUs: Bool {
        switch self {
        case .retry, .unknown: true
        case .delivered, .accepted, .deviceGone, .configError, .payloadError: false
        }
    }

    /// Whether the provider works and accepts our credentials.
    fileprivate var isTaking: Bool {
        switch self {
        case .delivered, .accepted, .deviceGone, .payloadError: true
        case .retry, .unknown, .configError: false
        }
    }
}
