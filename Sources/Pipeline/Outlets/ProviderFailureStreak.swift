import BellhopRules
import Push
import Store

/// A streak of answers with which a provider has accepted nothing from an app, or the success that ended it.
///
/// It is information for operators; no decision depends on it. A success refutes the streaks of other workers.
enum ProviderFailureStreak: Equatable {
    case failing(ProviderOutage)
    case accepting(ProviderSuccess)

    /// The period after which a streak without new answers is forgotten.
    private static let memory = Duration.seconds(600)

    /// Returns the streak after the answers to a batch; `nil` if they are not worth reporting.
    ///
    /// A streak ends with every answer that accepts a message or concerns its device, and with a message that is
    /// rejected for its own content.
    static func after(
        _ verdicts: [Verdict],
        _ earlier: ProviderFailureStreak?,
        at outlet: OutletKey,
        now: Timestamp
    ) -> ProviderFailureStreak? {
        guard let last = verdicts.last else { return earlier }
        guard let word = last.reason?.rawValue, verdicts.allSatisfy(\.saysNothingOfUs) else {
            guard verdicts.contains(where: \.isTaking) else { return nil }
            return .accepting(ProviderSuccess(app: outlet.app.text, provider: outlet.provider, at: now))
        }
        var outage = ProviderOutage(
            app: outlet.app.text,
            provider: outlet.provider,
            word: word,
            since: now,
            latest: now,
            answers: 0
        )
        if case .failing(let known)? = earlier { outage = known }
        outage.word = word
        outage.latest = now
        outage.answers += verdicts.count
        return .failing(outage)
    }

    private var latest: Timestamp {
        switch self {
        case .failing(let outage): outage.latest
        case .accepting(let success): success.at
        }
    }

    /// Whether it is recent enough to be reported.
    func isCurrent(at now: Timestamp) -> Bool {
        now.microseconds - latest.microseconds < Self.memory.microseconds
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
