import BellhopRules
import Push
import Store

/// Distinguishes a configuration error from errors of a few users' devices, if a provider reports both in the same way.
///
/// A crowd is at least five users and more than half of the answers to a batch: for APNs of the answers of the
/// environment, for Expo of the platform. Users are counted, not devices, because each user can register any number.
///
/// Anybody can register invented tokens, from any number of accounts. If a provider has reached devices of an app, only
/// these are evidence about others. If it has reached none, all are, because wrong credentials would otherwise not be
/// noticed on the first day. An outlet is proven if it accepted a message within ten minutes.
///
/// The meaning of an answer is the first that applies.
///
/// If it rejects our credentials or settings:
/// 1. An unreached device can have caused it by its own registration, and no reached device received it: the device's
///    own error. It is tried again, and its attempts count.
/// 2. A single recipient can cause it, no crowd received it, and the outlet is proven: the recipient's own error.
/// 3. Otherwise, the breaker opens.
///
/// If it rejects the device, in a way that our settings can cause:
/// 1. The batch probes a breaker that is open for the same reason: confirmed. The breaker stays open, no device is lost.
/// 2. A crowd received it, without unreached devices: our error. The breaker opens, no device is lost.
/// 3. A crowd with unreached devices received it, and the outlet is not proven: in doubt. Each device is tried again.
/// 4. Otherwise, the device's own error: it is revoked.
///
/// Devices that are gone in large numbers are detected by ``MassRevocationDetector``.
enum MassFailure {
    /// The minimum number of users; fewer are not evidence about the others, whatever their share.
    static let minimumUsers = 5

    /// Whether more than half of the answers are errors, and they affect at least five users.
    ///
    /// `blamed` contains one user per such answer.
    static func isLikely(_ blamed: [UserKey], of answers: Int) -> Bool {
        blamed.count * 2 > answers && Set(blamed).count >= minimumUsers
    }

    /// An answer about a message, with the message's user.
    typealias Answer = (person: UserKey, verdict: Verdict)

    /// Returns the most frequent reason among the rejections of our credentials or settings, if their number indicates
    /// a configuration error.
    ///
    /// It is the rule for receipts: a single token may belong to another project, and does not block the others.
    static func refusal(among answers: [Answer]) -> VerdictReason? {
        let refused = answers.filter { $0.verdict.refusal != nil }
        guard isLikely(refused.map(\.person), of: answers.count) else { return nil }
        let reasons = refused.compactMap(\.verdict.refusal)
        return Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +).max { $0.value < $1.value }?.key
    }

    /// Returns the meaning of each answer to a batch, in order.
    ///
    /// A suspected configuration error is a `configError`.
    static func meanings(
        of verdicts: [Verdict],
        to shipments: [OutgoingDelivery],
        _ history: AcceptanceHistory
    ) -> [Verdict] {
        guard verdicts.contains(where: { $0.refusal != nil || $0.inMasses != nil }) else { return verdicts }
        let batch = ComparedAnswers(
            answers: zip(verdicts, shipments).map(ComparedAnswers.Answer.init),
            history: history
        )
        var meanings: [ComparedAnswers.Kind: Verdict] = [:]
        return batch.answers.map { answer in
            if let meaning = meanings[answer.kind] { return meaning }
            let meaning = batch.meaning(of: answer.kind)
            meanings[answer.kind] = meaning
            return meaning
        }
    }
}

/// The answers to one batch, side by side.
private struct ComparedAnswers {
    /// The facts on which the meaning of an answer depends.
    struct Kind: Hashable {
        let verdict: Verdict
        let wasReached: Bool
        let environment: PushEnvironment?
        let platform: DevicePlatform?
    }

    struct Answer {
        let kind: Kind
        let person: UserKey

        init(_ verdict: Verdict, _ shipment: OutgoingDelivery) {
            kind = Kind(
                verdict: verdict,
                wasReached: shipment.wasReached,
                environment: shipment.environment,
                platform: shipment.platform
            )
            person = shipment.person
        }
    }

    let answers: [Answer]
    let history: AcceptanceHistory

    func meaning(of kind: Kind) -> Verdict {
        if let reason = kind.verdict.refusal { return meaning(ofRefusal: reason, kind) }
        if let ourError = kind.verdict.inMasses { return meaning(ofDeviceError: ourError, kind) }
        return kind.verdict
    }

    /// Our credentials or settings are rejected: for all, unless this recipient alone can have caused it.
    private func meaning(ofRefusal reason: VerdictReason, _ kind: Kind) -> Verdict {
        let ownError = Verdict.configError(reason, scope: .device)
        if isOfUnreachedDevice(kind) { return ownError }
        guard kind.verdict.ofOneRecipient != nil, !history.recentlyAccepted.isEmpty else { return kind.verdict }
        var same = answers.filter { $0.kind.verdict == kind.verdict && !isOfUnreachedDevice($0.kind) }
        var all = answers.count
        if case .configError(_, .platform) = kind.verdict {
            guard let platform = kind.platform, history.platformsTakenLately.contains(platform) else {
                return kind.verdict
            }
            same.removeAll { $0.kind.platform != platform }
            all = answers.count { $0.kind.platform == platform }
        }
        return MassFailure.isLikely(same.map(\.person), of: all) ? kind.verdict : ownError
    }

    /// Whether an unreached device can have caused the rejection by its own registration, and no reached device
    /// received it.
    ///
    /// Examples are APNs' other environment and another platform.
    private func isOfUnreachedDevice(_ kind: Kind) -> Bool {
        guard history.hasReachedDevices, !kind.wasReached, kind.verdict.refusal != nil else { return false }
        let canCause: Bool
        if case .configError(_, .platform) = kind.verdict {
            canCause = kind.platform.map(history.platforms.contains) ?? false
        } else {
            canCause = kind.environment == .sandbox
        }
        return canCause && !answers.contains { $0.kind.wasReached && $0.kind.verdict == kind.verdict }
    }

    /// The device is said to be wrong: it is, unless a crowd receives the same answer.
    private func meaning(ofDeviceError ourError: Verdict, _ kind: Kind) -> Verdict {
        guard let reason = ourError.reason else { return kind.verdict }
        if reason.rawValue == history.probed { return ourError }
        // Answers about development builds are not evidence about the others.
        let compared = answers.filter { $0.kind.environment == kind.environment }
        let same = compared.filter { $0.kind.verdict.inMasses == ourError }
        let isCrowd = MassFailure.isLikely(same.map(\.person), of: compared.count)
        guard history.hasReachedDevices else { return isCrowd ? ourError : kind.verdict }
        let reached = same.filter(\.kind.wasReached)
        let others = compared.count - (same.count - reached.count)
        if MassFailure.isLikely(reached.map(\.person), of: others) { return ourError }
        // It is unknown whether the credentials are right. Each device is tried again separately and blocks no other.
        let isProven = history.recentlyAccepted.contains(kind.environment)
        return isCrowd && !isProven ? .configError(reason, scope: .device) : kind.verdict
    }
}

/// Detects when a provider reports so many devices gone that a configuration error is likely: wrong credentials, a
/// wrong project or a wrong environment.
///
/// It evaluates each period that ends now, up to ten minutes, in steps of ten seconds. Otherwise, the acceptances of a
/// campaign minutes before would hide that all devices are gone now.
package struct MassRevocationDetector {
    private struct Step {
        let number: Int64
        var gone = 0
        var answers = 0
    }

    /// The steps with answers, the earliest first.
    private var steps: [Step] = []

    /// The minimum for a mass failure; fewer do not count as one, whatever their share.
    package static let fewest = 50

    private static let secondsPerStep: Int64 = 10
    private static let span: Int64 = 60

    /// Adds answers and returns whether there is a mass failure: at least fifty gone devices within a period that ends
    /// now, and more than half of its answers.
    mutating func take(gone: Int, of answers: Int, atSecond second: Int64) -> Bool {
        let number = second / Self.secondsPerStep
        steps.removeAll { $0.number <= number - Self.span || $0.number > number }
        if steps.last?.number != number { steps.append(Step(number: number)) }
        steps[steps.count - 1].gone += gone
        steps[steps.count - 1].answers += answers
        guard gone > 0 else { return false }
        var (allGone, all) = (0, 0)
        for step in steps.reversed() {
            allGone += step.gone
            all += step.answers
            if allGone >= Self.fewest && allGone * 2 > all { return true }
        }
        return false
    }

    /// Starts again, after the alarm has been handled.
    mutating func reset() {
        steps = []
    }
}
