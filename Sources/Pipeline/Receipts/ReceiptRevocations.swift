import BellhopRules
import Push
import ServiceRuntime
import Synchronization

/// Detects a mass failure of devices from receipts, separately for each app.
///
/// It is separate from the detection at sends, because messages that were accepted a moment ago are not evidence about
/// devices of 15 minutes before.
final class ReceiptRevocations: Sendable {
    private let watches = Mutex<[AppID: MassRevocationDetector]>([:])

    /// Adds the answers, one per ticket, and returns whether the number of users with gone devices indicates a
    /// configuration error.
    ///
    /// An alarm resets the count, so that later answers must reach the threshold again.
    func areMany(_ answers: [ReceiptRefusal.Answer], of app: AppID, at now: Instant) -> Bool {
        watches.withLock { watches in
            let areMany = watches[app, default: MassRevocationDetector()].take(
                gone: Set(answers.filter { $0.verdict.isGone }.map(\.person)).count,
                of: answers.count,
                atMinute: now.microseconds / 60_000_000
            )
            if areMany { watches[app]?.reset() }
            return areMany
        }
    }
}
