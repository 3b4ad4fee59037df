import BellhopRules
import Push
import ServiceRuntime
import Synchronization

/// Watches receipts for devices that die in masses, app by app.
///
/// Apart from the watch on sends: what was taken a moment ago says nothing about devices of a quarter of an hour before.
final class ReceiptDeaths: Sendable {
    private let watches = Mutex<[AppID: DeathWatch]>([:])

    /// Takes the answers in, one for each ticket; whether devices of so many people are gone that the fault must be ours.
    ///
    /// The alarm ends the count: what comes afterwards must be many once more.
    func areMany(_ answers: [ReceiptRefusal.Answer], of app: AppID, at now: Instant) -> Bool {
        watches.withLock { watches in
            let areMany = watches[app, default: DeathWatch()].take(
                gone: Set(answers.filter { $0.verdict.isGone }.map(\.person)).count,
                of: answers.count,
                atMinute: now.microseconds / 60_000_000
            )
            if areMany { watches[app]?.reset() }
            return areMany
        }
    }
}
