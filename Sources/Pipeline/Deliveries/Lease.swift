import Synchronization

/// The beginning of the claim on some shipments, as determined without the database's clock.
///
/// It is the time before the claiming statement was sent, so the lease ends sooner here than in the database. The
/// shipments exist before that statement has an answer, and share one object.
///
/// Thread safety: the instant is behind a lock.
final class Lease: Sendable {
    private let beginning = Mutex<ContinuousClock.Instant?>(nil)

    /// Notes the send time of a statement that has claimed a delivery.
    ///
    /// Of several, the earliest counts.
    func begin(at instant: ContinuousClock.Instant) {
        beginning.withLock { $0 = min($0 ?? instant, instant) }
    }

    /// The beginning; `nil` if the lease has not begun.
    var start: ContinuousClock.Instant? { beginning.withLock { $0 } }

    /// Whether it has lasted for longer than `span`; `false` if it has not begun.
    func hasLasted(_ span: Duration, at now: ContinuousClock.Instant) -> Bool {
        beginning.withLock { $0.map { $0.duration(to: now) > span } ?? false }
    }
}
