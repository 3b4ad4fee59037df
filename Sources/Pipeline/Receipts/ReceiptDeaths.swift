import BellhopRules
import Push
import ServiceRuntime
import Synchronization

/// Watches receipts for devices that die in masses, app by app.
///
/// Apart from the watch on sends: what was taken a moment ago says nothing about devices of a quarter of an hour before.
final class ReceiptDeaths: Sendable {
    private let watches = Mutex<[AppID: DeathWatch]>([:])

    /// Takes the answers in; whether so many devices are gone that the fault must be ours.
    func areMany(_ answers: [ReceiptAnswer], of app: AppID, at now: Instant) -> Bool {
        let known = answers.compactMap { answer in
            if case .known(let verdict) = answer { verdict } else { nil }
        }
        return watches.withLock { watches in
            watches[app, default: DeathWatch()].take(
                gone: known.count(where: \.isGone),
                of: known.count,
                atMinute: now.microseconds / 60_000_000
            )
        }
    }
}
