import Postgres
import ServiceRuntime
import Store

/// How far back a duty looks for what has fallen due.
///
/// What is taken from a queue leaves a dead entry at the head of its index, and nobody may remove it while an older
/// transaction is open, such as that of a backup: a look from the beginning reads all of them, each second. So a look
/// begins where the last one left nothing, with some slack for transactions that began before it and commit after it.
///
/// Once in a `period`, and after a look that failed, one begins at the very beginning, so that nothing is forgotten for
/// longer, whatever its due time. Such looks never take more than a twentieth of the time.
struct LookBack: Sendable {
    private let period: Duration
    private let clock: @Sendable () -> ContinuousClock.Instant
    /// Nothing that was due by then is left, as far as is known: before the first look, nothing is.
    private var mark: ContinuousClock.Instant
    private var formerMark: ContinuousClock.Instant
    private var wholeAt: ContinuousClock.Instant

    /// How late a transaction may commit what falls due at its beginning without waiting for the next whole look.
    ///
    /// What is in somebody's hand for half a minute is found within it as well.
    static let slack = Duration.seconds(60)

    /// The first look is a whole one.
    ///
    /// The `share` of the period is drawn, so that schedulers do not move in step.
    init(
        whole period: Duration,
        share: Double = .random(in: 0.9...1),
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.period = period * share
        self.clock = clock
        let start = clock()
        mark = start - DueLook.whole
        formerMark = mark
        wholeAt = start
    }

    /// For a duty that looks once in an `interval`: one look in sixty is a whole one.
    init(every interval: Duration) {
        self.init(whole: interval * 60)
    }

    /// Looks once; `take` is told how long something may have been due.
    mutating func look<Item>(
        _ take: (Duration) async throws(PostgresError) -> DueItems<Item>
    ) async throws(PostgresError) -> DueItems<Item> {
        let begin = clock()
        let isWhole = begin >= wholeAt
        // One that takes too long for the database is not begun again at once.
        if isWhole { wholeAt = begin + period }
        let found: DueItems<Item>
        do {
            found = try await take(isWhole ? DueLook.whole : min(begin - mark + Self.slack, DueLook.whole))
        } catch {
            if !isWhole { wholeAt = begin }
            throw error
        }
        // A whole look may find what is older than any mark.
        formerMark = isWhole ? begin - DueLook.whole : mark
        let empty = begin - (found.left ?? .zero)
        mark = isWhole ? empty : max(mark, empty)
        if isWhole { wholeAt = begin + max(period, (clock() - begin) * 20) }
        return found
    }

    /// The next look is a whole one.
    mutating func beginAnew() {
        wholeAt = clock()
    }

    /// What the last look found is back in its place.
    mutating func putBack() {
        mark = formerMark
    }
}
