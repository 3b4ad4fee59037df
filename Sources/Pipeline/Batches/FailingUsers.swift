import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// The users on whose rows the server fails when work of many users is taken from one queue with one statement.
///
/// Such a statement names no users, so it cannot be divided by its parameters. If the server fails on it, the users at
/// the head of the queue become suspects. The statement continues without them, and is repeated for them in parts,
/// which are halved after each failure. A user for whom it fails alone is tried again after growing pauses of up to a
/// minute, or ten minutes if it fails slowly. If the server fails on everyone for a moment, all of them are thus taken
/// soon afterwards.
///
/// A queue has one caller at a time.
///
/// Thread safety: the suspects are behind a lock, which no statement holds.
final class FailingUsers: Sendable {
    /// The results of one call.
    struct Taken<Value: Sendable>: Sendable {
        /// The result for all other users; `nil` if the server failed on it.
        fileprivate(set) var main: Value?
        /// The results for parts of the suspects.
        fileprivate(set) var ofSuspects: [Value] = []

        var values: [Value] { ofSuspects + (main.map { [$0] } ?? []) }
    }

    private struct Suspects {
        let users: [Int64]
        /// The time of their last row when they became suspects, in the queue's order.
        let until: Timestamp
        var notBefore: ContinuousClock.Instant
        var failures = 0

        /// Returns two halves, or the single user after a pause, after a statement that took `span`.
        func divided(at now: ContinuousClock.Instant, after span: Duration) -> [Suspects] {
            guard users.count > 1 else {
                var single = self
                single.failures += 1
                let pause = min(.seconds(1 << min(failures, 6)), FailingUsers.longestPause)
                // A statement that fails slowly takes at most a twentieth of the time.
                single.notBefore = now + max(pause, min(span * 20, FailingUsers.longestPauseOfSlow))
                return [single]
            }
            let middle = users.count / 2
            return [users[..<middle], users[middle...]].map {
                Suspects(users: Array($0), until: until, notBefore: now)
            }
        }
    }

    /// The name of the work, for the log.
    private let label: String
    private let logger: Logger
    private let setAside: SetAsideMetrics
    private let time: any TimeSource
    private let suspects = Mutex<[Suspects]>([])

    init(taking label: String, time: any TimeSource, logger: Logger, metrics: SetAsideMetrics) {
        self.label = label
        self.time = time
        self.logger = logger
        setAside = metrics
    }

    /// Takes at most `limit` items: first those of suspects who are to be tried again, then those of all other users.
    ///
    /// `head` returns the users whose items `take` would take. `count` returns the number of items in a value, or `nil`
    /// if another process holds the queue. `isRest` tells whether a value contains all items of a statement's users; by
    /// default it does if there are fewer than the limit.
    ///
    /// - Throws: The server's error, if nothing was taken because of it.
    func take<Value: Sendable>(
        atMost limit: Int,
        head: (UserFilter) async throws(StoreError) -> QueueHead,
        count: (Value) -> Int?,
        isRest: ((Value) -> Bool)? = nil,
        _ take: (UserFilter, Int) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Taken<Value> {
        var (taken, left) = (Taken<Value>(), limit)
        var failure = await tryAgain(&taken, &left, count, isRest, take)
        // A lost connection concerns the next statement, too.
        if let failure, !failure.mayPassForOthers { return try taken.unless(failure) }
        guard left > 0 else { return taken }
        let others = UserFilter.all(except: suspects.withLock { $0.flatMap(\.users) })
        do throws(StoreError) {
            taken.main = try await take(others, left)
            return taken
        } catch {
            guard error.mayPassForOthers else { return try taken.unless(error) }
            failure = error
            do throws(StoreError) {
                guard suspect(try await head(others)) else { return try taken.unless(error) }
            } catch {
                return try taken.unless(error)
            }
        }
        failure = await tryAgain(&taken, &left, count, isRest, take) ?? failure
        if let failure, taken.values.allSatisfy({ count($0) ?? 0 == 0 }) { throw failure }
        return taken
    }

    /// Repeats the statement for suspects, and returns the last failure.
    ///
    /// A user all of whose items were taken is no longer a suspect. Items that became due meanwhile, or that another
    /// process had locked, may have to wait for the next poll from the beginning.
    private func tryAgain<Value: Sendable>(
        _ taken: inout Taken<Value>,
        _ left: inout Int,
        _ count: (Value) -> Int?,
        _ isRest: ((Value) -> Bool)?,
        _ take: (UserFilter, Int) async throws(StoreError) -> Value
    ) async -> StoreError? {
        let end = time.steady() + Self.patience
        var (failure, failuresInVain): (StoreError?, Int) = (nil, 0)
        while left > 0, failuresInVain <= Self.mostFailuresInVain, time.steady() < end, let part = next() {
            let begin = time.steady()
            do throws(StoreError) {
                let value = try await take(.only(part.users, until: part.until), left)
                guard let count = count(value) else {
                    put(back: [part])
                    break
                }
                taken.ofSuspects.append(value)
                let hasMore = !(isRest?(value) ?? (count < left))
                left -= count
                failuresInVain = 0
                if hasMore {
                    put(back: [part])
                    break
                }
            } catch {
                (failure, failuresInVain) = (error, failuresInVain + 1)
                guard error.mayPassForOthers else {
                    put(back: [part])
                    break
                }
                put(back: part.divided(at: time.steady(), after: time.steady() - begin))
                if part.users.count == 1, part.failures == 0 { report(part.users[0], error) }
            }
        }
        return failure
    }

    /// Removes and returns the first suspects who are to be tried again.
    private func next() -> Suspects? {
        let now = time.steady()
        return suspects.withLock { suspects in
            suspects.firstIndex { $0.notBefore <= now }.map { suspects.remove(at: $0) }
        }
    }

    private func put(back parts: [Suspects]) {
        suspects.withLock { $0 += parts }
    }

    /// Makes the users at the head of the queue suspects; `false` if there are none, or too many already.
    private func suspect(_ head: QueueHead) -> Bool {
        let now = time.steady()
        return suspects.withLock { suspects in
            let count = suspects.reduce(head.users.count) { $0 + $1.users.count }
            guard !head.users.isEmpty, count <= Self.mostSuspects else { return false }
            suspects.append(Suspects(users: head.users, until: head.until, notBefore: now))
            return true
        }
    }

    private func report(_ user: Int64, _ error: StoreError) {
        setAside.count(label)
        logger.warning(
            "the database fails on one user's rows, leaving them out for growing pauses",
            ["of": .text(label), "person": .integer(Int(user)), "error": .error(error)]
        )
    }

    private static let longestPause = Duration.seconds(60)
    private static let longestPauseOfSlow = Duration.seconds(600)
    private static let mostSuspects = 4_000
    /// The server may fail on everyone; the next call continues.
    private static let mostFailuresInVain = 12
    /// The time for which a call tries suspects, unless a single statement takes longer.
    private static let patience = Duration.seconds(5)
}

extension FailingUsers.Taken {
    /// Returns the results so far, or throws the error if there are none.
    fileprivate func unless(_ error: StoreError) throws(StoreError) -> Self {
        guard ofSuspects.isEmpty else { return self }
        throw error
    }
}

extension DuePollResult {
    /// Creates the result of a poll from its parts.
    ///
    /// Suspects are searched for separately, so the result for all others tells what remains.
    init(_ taken: FailingUsers.Taken<DuePollResult<Item>>) {
        self.init(joining: taken.values, left: taken.main.map(\.left) ?? DuePoll.whole)
    }
}
