package import BellhopRules
import Push
package import Store
import Synchronization

/// Which providers have taken nothing of an app since when, as this worker sees it: for people, and nothing goes by it.
///
/// Thread safety: all state is behind one lock.
package final class ProviderStreaks: Sendable {
    private let state = Mutex<[OutletKey: Streak]>([:])

    /// What an outlet's provider does, of which a streak of refusals is worth a word to people, and what ended it refutes
    /// those of other workers.
    private enum Streak {
        case refusing(ProviderTrouble)
        case taking(Timestamp)

        var latest: Timestamp {
            switch self {
            case .refusing(let trouble): trouble.latest
            case .taking(let at): at
            }
        }
    }

    init() {}

    /// Of what nobody has heard for so long, nobody knows any more.
    private static let memory = Duration.seconds(600)

    /// The answers to a batch.
    ///
    /// Whatever lets one message or its device through ends a streak, and so does a message that is refused for itself.
    func note(_ verdicts: [Verdict], _ outlet: OutletKey, at now: Timestamp) {
        guard let last = verdicts.last else { return }
        guard let word = last.reason?.rawValue, verdicts.allSatisfy(\.saysNothingOfUs) else {
            let isTaking = verdicts.contains(where: \.isTaking)
            return state.withLock { $0[outlet] = isTaking ? .taking(now) : nil }
        }
        state.withLock { state in
            var trouble = ProviderTrouble(
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

    /// The streaks that go on, and those that have ended.
    package func current(at now: Timestamp) -> (troubles: [ProviderTrouble], takings: [ProviderTaking]) {
        let known = state.withLock { state in
            state = state.filter { now.microseconds - $0.value.latest.microseconds < Self.memory.microseconds }
            return state
        }
        var (troubles, takings): ([ProviderTrouble], [ProviderTaking]) = ([], [])
        for (outlet, streak) in known {
            switch streak {
            case .refusing(let trouble): troubles.append(trouble)
            case .taking(let at):
                takings.append(ProviderTaking(app: outlet.app.text, provider: outlet.provider, at: at))
            }
        }
        return (troubles, takings)
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

    /// Whether the provider is well, and takes us for who we are.
    fileprivate var isTaking: Bool {
        switch self {
        case .delivered, .accepted, .deviceGone, .payloadError: true
        case .retry, .unknown, .configError: false
        }
    }
}
