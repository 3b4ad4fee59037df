import Synchronization

/// When the claim of some shipments began, as far as their claimer can know without asking the database's clock.
///
/// It counts from before the statement that claimed them was sent, so it ends sooner here than there. The shipments exist
/// before that statement has an answer, and share one object.
///
/// Thread safety: the instant is behind a lock.
final class Lease: Sendable {
    private let beginning = Mutex<ContinuousClock.Instant?>(nil)

    /// A statement that was sent then has claimed something; of several the earliest counts.
    func begin(at instant: ContinuousClock.Instant) {
        beginning.withLock { $0 = min($0 ?? instant, instant) }
    }

    /// When; nil where it has not begun.
    var start: ContinuousClock.Instant? { beginning.withLock { $0 } }

    /// Whether it has lasted for longer than `span`; one that has not begun has not.
    func hasLasted(_ span: Duration, at now: ContinuousClock.Instant) -> Bool {
        beginning.withLock { $0.map { $0.duration(to: now) > span } ?? false }
    }
}
