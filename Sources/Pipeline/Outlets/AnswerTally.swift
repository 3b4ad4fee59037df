import BellhopRules
import Push
import ServiceRuntime
import Store

/// The answers of an outlet's provider within the last minutes, and their combined meaning.
struct AnswerTally {
    var acceptances: AcceptanceHistoryCache
    private let outlet: OutletKey
    private var revocations = MassRevocationDetector()
    /// The same for reached devices only.
    private var revocationsOfReached = MassRevocationDetector()
    /// The same for receipts.
    ///
    /// Messages that were accepted a moment ago are not evidence about devices of 15 minutes before.
    private var revocationsInReceipts = MassRevocationDetector()
    /// The time until which gone devices are accepted in any number, because an alarm has just proved wrong.
    private var trustedUntil: ContinuousClock.Instant?

    init(of outlet: OutletKey) {
        self.outlet = outlet
        acceptances = AcceptanceHistoryCache(of: outlet)
    }

    /// The reasons of open breakers that influence the meaning of a batch's answers.
    struct OpenReasons {
        /// The reason of the whole outlet's breaker.
        var outlet: String?
        /// The reason of the breaker that the batch probes.
        var probed: String?
    }

    /// Notes the answers to a batch and evaluates them.
    ///
    /// The batch's own acceptances count for the evaluation of its errors. `second` numbers the seconds of `now`'s
    /// clock.
    mutating func outcome(
        of verdicts: [Verdict],
        to shipments: [OutgoingDelivery],
        _ open: OpenReasons,
        at now: ContinuousClock.Instant,
        second: Int64
    ) -> BatchOutcome {
        acceptances.note(verdicts, of: shipments, at: now)
        // If all were accepted, earlier observations change nothing.
        let history = verdicts.allSatisfy(\.isTaken) ? .everybody : acceptances.history(at: now)
        let compared = open.probed.map { AcceptanceHistory(probed: $0) } ?? history
        var outcome = BatchOutcome(verdicts, of: shipments, outlet, compared)
        outcome.isMassDeath = isMassFailure(outcome, open, history, at: now, second: second)
        return outcome
    }

    /// Detects a mass failure of devices.
    ///
    /// After the alarm, the remaining answers in flight are not accepted either.
    ///
    /// Unreached devices count only if the app has no reached device. Browsers are excluded: anybody can register large
    /// numbers of dead endpoints, and must not be able to block other users.
    private mutating func isMassFailure(
        _ outcome: BatchOutcome,
        _ open: OpenReasons,
        _ history: AcceptanceHistory,
        at now: ContinuousClock.Instant,
        second: Int64
    ) -> Bool {
        guard outlet.provider != PushProvider.webpush.rawValue else { return false }
        let (deaths, ofReached) = (outcome.deaths, outcome.deathsOfReached)
        let isAlarmed = deaths.people > 0 && open.outlet == OpenBreaker.massDeath
        var isMassFailure = isAlarmed
        if let trustedUntil, trustedUntil > now {
            guard isAlarmed else { return false }
        } else {
            trustedUntil = nil
            let all = revocations.take(gone: deaths.people, of: deaths.answers, atSecond: second)
            let reached = revocationsOfReached.take(gone: ofReached.people, of: ofReached.answers, atSecond: second)
            isMassFailure = isAlarmed || reached || (all && !history.hasReachedDevices)
        }
        guard isMassFailure else { return false }
        revocations.reset()
        revocationsOfReached.reset()
        return true
    }

    /// Notes that an alarm has proved wrong: gone devices are accepted in any number until `end`.
    mutating func trust(until end: ContinuousClock.Instant) {
        trustedUntil = end
    }

    /// Adds the answers of one poll for receipts, one per ticket, and returns whether the number of users with gone
    /// devices indicates a configuration error.
    ///
    /// An alarm resets the count, so that later answers must reach the threshold again.
    mutating func detectsMassFailure(inReceipts answers: [MassFailure.Answer], at now: Instant) -> Bool {
        let isMassFailure = revocationsInReceipts.take(
            gone: Set(answers.filter { $0.verdict.isGone }.map(\.person)).count,
            of: answers.count,
            atSecond: now.microseconds / 1_000_000
        )
        if isMassFailure { revocationsInReceipts.reset() }
        return isMassFailure
    }
}

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
            var success = ProviderSuccess(app: outlet.app.text, provider: outlet.provider, at: now)
            success.recoveredAt = earlier?.recoveredAt(now)
            return .accepting(success)
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

    /// Returns when the last reported outage ended, if the provider accepts messages now and retries of the outage may
    /// still wait.
    private func recoveredAt(_ now: Timestamp) -> Timestamp? {
        switch self {
        case .failing(let outage):
            let span = now.microseconds - outage.since.microseconds
            return span >= ProviderOutage.minimum.microseconds ? now : nil
        case .accepting(let success):
            guard let end = success.recoveredAt else { return nil }
            return now.microseconds - end.microseconds < Self.memoryOfRecovery.microseconds ? end : nil
        }
    }

    /// Longer than a delivery usually waits in a retry tier.
    private static let memoryOfRecovery = Duration.seconds(7_200)

    private var latest: Timestamp {
        switch self {
        case .failing(let outage): outage.latest
        case .accepting(let success): success.at
        }
    }

    /// Whether it is recent enough to be reported.
    func isCurrent(at now: Timestamp) -> Bool {
        let hasRecovered = if case .accepting(let success) = self { success.recoveredAt != nil } else { false }
        let memory = hasRecovered ? Self.memoryOfRecovery : Self.memory
        return now.microseconds - latest.microseconds < memory.microseconds
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
