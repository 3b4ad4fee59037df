import ServiceRuntime
import Store

/// Determines how far into the past a duty searches for due rows.
///
/// A row that is taken from a queue leaves a dead entry at the head of its index. The entry cannot be removed while an
/// older transaction is open, such as a backup's, and a poll from the beginning would read all such entries every
/// second. A poll therefore begins where the last one left nothing, with some slack for transactions that began before
/// it and commit after it.
///
/// Once per `period`, and after a failed poll, one begins at the start of the index, so that no row is missed for
/// longer, whatever its due time. Such polls never take more than a twentieth of the time.
struct PollWindow: Sendable {
    private let period: Duration
    private let clock: @Sendable () -> ContinuousClock.Instant
    /// The time up to which no due row is left, as far as known.
    ///
    /// Before the first poll nothing is known.
    private var mark: ContinuousClock.Instant
    private var formerMark: ContinuousClock.Instant
    private var wholeAt: ContinuousClock.Instant

    /// The maximum delay of a transaction's commit after which its due rows are found without a full poll.
    ///
    /// It also covers rows that another process holds for half a minute.
    static let slack = Duration.seconds(60)

    /// The longest period, for a poll that takes half a minute, the usual limit of a statement.
    private static let longestPeriod = Duration.seconds(600)

    /// Creates a state whose first poll is a full one.
    ///
    /// The `share` of the period is random, so that schedulers do not run in step.
    init(
        whole period: Duration,
        share: Double = .random(in: 0.9...1),
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.period = period * share
        self.clock = clock
        let start = clock()
        mark = start - DuePoll.whole
        formerMark = mark
        wholeAt = start
    }

    /// Creates a state for a duty that polls once per `interval`; one poll in sixty is a full one.
    init(every interval: Duration) {
        self.init(whole: interval * 60)
    }

    /// Polls once; `take` receives the maximum time since the due time.
    mutating func look<Item>(
        _ take: (Duration) async throws(StoreError) -> DuePollResult<Item>
    ) async throws(StoreError) -> DuePollResult<Item> {
        let begin = clock()
        let isWhole = begin >= wholeAt
        // A poll that takes too long for the database does not start again immediately.
        if isWhole { wholeAt = begin + period }
        let found: DuePollResult<Item>
        do {
            found = try await take(isWhole ? DuePoll.whole : min(begin - mark + Self.slack, DuePoll.whole))
        } catch {
            if !isWhole { wholeAt = begin }
            throw error
        }
        // A full poll may find rows older than any mark.
        formerMark = isWhole ? begin - DuePoll.whole : mark
        let empty = begin - (found.left ?? .zero)
        mark = isWhole ? empty : max(mark, empty)
        if isWhole { wholeAt = begin + max(period, min((clock() - begin) * 20, Self.longestPeriod)) }
        return found
    }

    /// Makes the next poll a full one.
    mutating func beginAnew() {
        wholeAt = clock()
    }

    /// Notes that the rows of the last poll are due again.
    mutating func putBack() {
        mark = formerMark
    }
}
