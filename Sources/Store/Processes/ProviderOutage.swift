package import BellhopRules

/// A provider that has accepted nothing from an app for a while, whatever its answers are.
package struct ProviderOutage: Sendable, Equatable {
    package let app: String
    package let provider: String
    /// Its last answer, as named in the ledger.
    package var word: String
    package var since: Timestamp
    /// When it gave this answer last.
    package var latest: Timestamp
    /// The number of answers since then, including missing ones.
    package var answers: Int

    package init(app: String, provider: String, word: String, since: Timestamp, latest: Timestamp, answers: Int) {
        self.app = app
        self.provider = provider
        self.word = word
        self.since = since
        self.latest = latest
        self.answers = answers
    }
}

/// A provider that has recently accepted a push of an app or recognised its device.
package struct ProviderSuccess: Sendable, Equatable {
    package let app: String
    package let provider: String
    package let at: Timestamp
    /// When the outage ended that this worker saw last; `nil` if it saw none lately.
    package var recoveredAt: Timestamp?

    package init(app: String, provider: String, at: Timestamp, recoveredAt: Timestamp? = nil) {
        self.app = app
        self.provider = provider
        self.at = at
        self.recoveredAt = recoveredAt
    }
}

/// A worker's requests to one provider of one app in its last minute or two.
package struct OutletActivity: Sendable, Equatable {
    package let app: String
    package let provider: String
    /// The length of the period in seconds.
    package var seconds = 0
    /// The accepted pushes or mails of the period.
    package var accepted = 0
    /// The others of the period, whatever the answer was.
    package var rejected = 0
    /// Those of them whose device is gone.
    package var gone = 0
    /// The requests of the period by duration: those up to each of the usual bounds, and all.
    package var spans: [Int] = []
    package var acceptedAt: Timestamp?
    package var rejectedAt: Timestamp?
    /// The reason of the latest rejection.
    package var word: String?
    /// The end of the pause that the provider has requested for all messages of the app; `nil` without one.
    package var pausedUntil: Timestamp?

    package init(app: String, provider: String) {
        self.app = app
        self.provider = provider
    }
}

extension ProviderOutage {
    /// The time for which a provider must fail before it is reported.
    package static let minimum = Duration.seconds(10)

    /// Returns the outages that all workers together report, ordered by app and provider.
    ///
    /// A success of any worker ends or shortens an outage. A provider that works again, or that fails for some workers
    /// only, is therefore not among them.
    ///
    /// Restarted workers have seen no beginning. An outage that a scheduler remembers therefore continues with their
    /// first failure, if no worker reports a success since.
    package static func combined(of processes: [LiveProcess], at now: Timestamp) -> [ProviderOutage] {
        // A worker that has failed again since its latest acceptance reports that only among its activities.
        let taken = processes.flatMap(\.report.takings).map { ([$0.app, $0.provider], $0.at) }
        let accepted = processes.flatMap(\.report.activities).compactMap { activity in
            activity.acceptedAt.map { ([activity.app, activity.provider], $0) }
        }
        let successes = Dictionary(taken + accepted, uniquingKeysWith: max)
        let grouped = Dictionary(grouping: processes.flatMap(\.report.troubles)) { [$0.app, $0.provider] }
        let remembered = Dictionary(grouping: processes.flatMap(\.report.remembered)) { [$0.app, $0.provider] }
        return grouped.compactMap { outlet, all -> ProviderOutage? in
            let taken = successes[outlet]
            let standing = all.filter { outage in taken.map { $0 < outage.latest } ?? true }
            guard let first = standing.min(by: { $0.since < $1.since }),
                let last = standing.max(by: { $0.latest < $1.latest })
            else { return nil }
            var whole = ProviderOutage(
                app: first.app,
                provider: first.provider,
                word: last.word,
                since: first.since,
                latest: last.latest,
                answers: standing.map(\.answers).reduce(0, +)
            )
            for earlier in remembered[outlet] ?? [] where earlier.continues(with: whole, after: taken) {
                whole.since = min(whole.since, earlier.since)
                whole.answers = max(whole.answers, earlier.answers)
            }
            if let taken { whole.since = max(whole.since, taken) }
            return now.microseconds - whole.since.microseconds >= minimum.microseconds ? whole : nil
        }
        .sorted { ($0.app, $0.provider) < ($1.app, $1.provider) }
    }

    /// Whether this remembered outage and a later one are the same, with `success` as the provider's latest success.
    private func continues(with later: ProviderOutage, after success: Timestamp?) -> Bool {
        guard success.map({ $0 < latest }) ?? true else { return false }
        return later.since.microseconds - latest.microseconds < Self.longestGap.microseconds
    }

    /// The longest time without any answer within one outage.
    ///
    /// Restarted workers ask the provider as soon as a delivery or a retry is due.
    private static let longestGap = Duration.seconds(600)
}
