import BellhopRules
import ServiceRuntime
import Store

/// Polls the backlogs of a worker's outlets.
///
/// It also releases deliveries that wait for an outlet that is no longer configured, so that they are decided again.
struct BacklogPoller {
    private let store: any WorkerDatabase
    private let outlets: Outlets
    private let metrics: BacklogMetrics
    private let context: PipelineContext
    private var nextLook: ContinuousClock.Instant
    private var nextWholeLook: ContinuousClock.Instant
    private var nextSearch: ContinuousClock.Instant
    private var nextTypeSearch: ContinuousClock.Instant
    /// Whether the last poll has failed.
    private var hasFailed = false

    /// The interval between two polls from the beginning.
    ///
    /// Only these find deliveries that were added with an old turn.
    private static let wholePeriod = Duration.seconds(10)
    /// The longest interval between them.
    private static let longestWholePeriod = Duration.seconds(60)
    /// The interval between two searches for backlogs that no worker serves or that only the ledger contains.
    private static let searchPeriod = Duration.seconds(60)
    /// The minimum wait in such a backlog, because other workers may have the outlet already.
    private static let grace = Duration.seconds(600)
    private static let releasedAtOnce = 1000

    /// Creates a watch whose first poll is from the beginning.
    init(
        store: any WorkerDatabase,
        outlets: Outlets,
        metrics: BacklogMetrics,
        context: PipelineContext
    ) {
        self.store = store
        self.outlets = outlets
        self.metrics = metrics
        self.context = context
        nextLook = context.time.steady()
        nextWholeLook = nextLook
        nextSearch = nextLook + Self.searchPeriod
        nextTypeSearch = nextLook
    }

    /// Polls all due backlogs with one statement.
    mutating func look(every interval: Duration) async {
        let begin = context.time.steady()
        guard begin >= nextLook else { return }
        nextLook = begin + interval
        let isWhole = begin >= nextWholeLook
        // After a failure, the next poll is a short one.
        if isWhole { nextWholeLook = begin + Self.wholePeriod }
        do throws(StoreError) {
            try await look(at: try await keys(isWhole: isWhole, at: begin), isWhole: isWhole)
            if isWhole { nextWholeLook = begin + wholeInterval(after: context.time.steady() - begin) }
            hasFailed = false
            guard begin >= nextSearch else { return }
            nextSearch = begin + Self.searchPeriod
            try await releaseUnserved()
        } catch {
            hasFailed = true
            context.metrics.storeFailures.increment()
            context.logger.warning("cannot read backlogs from the database", ["error": .error(error)])
        }
    }

    /// Returns the interval to the next poll from the beginning.
    ///
    /// Such polls take at most a twentieth of the time, because there may be many dead rows at the head of the index,
    /// unless one takes more than three seconds. The first poll after a failure has also waited for the database.
    private func wholeInterval(after took: Duration) -> Duration {
        hasFailed ? Self.wholePeriod : max(Self.wholePeriod, min(took * 20, Self.longestWholePeriod))
    }

    private func look(at keys: [BacklogKey], isWhole: Bool) async throws(StoreError) {
        let places = keys.flatMap { key in Priority.allCases.map { BacklogPlace(key, $0) } }
        let polls = places.compactMap { place in
            outlets[OutletKey(place.key)].map { ($0.backlogs, $0.backlogs.poll(place, isWhole: isWhole)) }
        }
        let heads = try await store.heads(polls.map(\.1.look))
        var oldest: [BacklogKey: Timestamp] = [:]
        for ((backlogs, poll), head) in zip(polls, heads.oldest) {
            backlogs.polled(head, by: poll, now: heads.now)
            let key = poll.look.place.key
            if let head { oldest[key] = min(head, oldest[key] ?? head) }
        }
        metrics.note(oldest, of: keys, now: heads.now)
    }

    /// Returns the backlogs of whole outlets, and those of platforms and types in which deliveries are known to wait.
    ///
    /// A poll from the beginning includes all possible ones.
    private mutating func keys(
        isWhole: Bool,
        at now: ContinuousClock.Instant
    ) async throws(StoreError) -> [BacklogKey] {
        let whole = outlets.keys.map { BacklogKey($0) }
        let known = outlets.knownBacklogs.filter { !$0.isWhole }
        guard isWhole else { return whole + known }
        let platforms = outlets.keys.filter(\.hasPlatforms).flatMap { outlet in
            DevicePlatform.allCases.map { BacklogKey(outlet, platform: $0) }
        }
        let held = outlets.keys.flatMap { outlet in
            outlets.holds.types(heldAt: outlet).map { BacklogKey(outlet, type: $0) }
        }
        return whole + Set(platforms + known + held + (try await formerlyHeld(at: now)))
    }

    /// Returns the backlogs of formerly held types, which only the ledger contains.
    ///
    /// This needs one query per name in the ledger, so it runs only at intervals.
    private mutating func formerlyHeld(at now: ContinuousClock.Instant) async throws(StoreError) -> [BacklogKey] {
        guard now >= nextTypeSearch else { return [] }
        nextTypeSearch = now + Self.searchPeriod
        let names = try await store.backlogNames()
        return names.compactMap { BacklogKey($0) }.filter { $0.type != nil && outlets[OutletKey($0)] != nil }
    }

    private func releaseUnserved() async throws(StoreError) {
        for name in try await store.backlogNames() {
            if let key = BacklogKey(name), outlets[OutletKey(key)] != nil { continue }
            let count: Int
            do throws(StoreError) {
                count = try await store.release(name, atMost: Self.releasedAtOnce, after: Self.grace)
            } catch {
                // A row on which the server fails stops the release of its backlog only.
                guard error.mayPassForOthers else { throw error }
                context.metrics.storeFailures.increment()
                context.logger.warning(
                    "cannot release deliveries of an outlet that is not configured",
                    ["backlog": .text(name), "error": .error(error)]
                )
                continue
            }
            guard count > 0 else { continue }
            context.logger.warning(
                "re-evaluating deliveries for an outlet that is not configured",
                ["backlog": .text(name), "deliveries": .integer(count)]
            )
        }
    }
}
