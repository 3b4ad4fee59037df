package import ServiceRuntime
package import Store
import Synchronization

/// Compares this host's clock with the database's, and prevents a process from acting on a wrong one.
///
/// If the two differ, it is unknown which one is wrong. Expiry, due times and retention are then uncertain, so a
/// process consumes nothing and plans nothing until they agree again.
///
/// Between two comparisons, the steady clock reveals a step of this host's clock.
///
/// Thread safety: the last comparison is behind a lock.
package final class ClockWatch: Sendable {
    /// The interval between two comparisons of a running process.
    static let interval = Duration.seconds(10)
    /// The interval while the clocks differ, and the maximum age of a comparison on which a duty relies.
    static let freshness = Duration.seconds(1)

    private let time: any TimeSource
    private let logger: Logger
    private let ask: @Sendable () async throws(StoreError) -> DatabaseClock.Comparison
    private let state = Mutex(State())

    private struct State {
        var last: DatabaseClock.Comparison?
        /// The time of the last comparison with agreeing clocks.
        var agreedAt: ContinuousClock.Instant?
        /// The running query, shared by all concurrent callers.
        var asking: Task<Void, Never>?
        /// The verdict that was logged last.
        var reported = Verdict.unknown
    }

    /// The meaning of the last comparison at the current time.
    package enum Verdict: Sendable, Equatable {
        /// The database has not answered yet.
        case unknown
        case agree
        /// The clocks differ by this amount: positive if this host's clock is ahead, negative if it is behind.
        case differ(Duration)
    }

    package init(
        time: any TimeSource,
        logger: Logger,
        metrics: MetricsRegistry,
        ask: @escaping @Sendable () async throws(StoreError) -> DatabaseClock.Comparison
    ) {
        self.time = time
        self.logger = logger.labelled("clock")
        self.ask = ask
        metrics.gauge(
            "bellhop_clock_offset_seconds",
            help: "Seconds by which this host's clock is ahead of the database's; absent until the first comparison."
        ) { [weak self] in self?.offset?.secondsAsDouble }
    }

    package convenience init(pool: ConnectionPool, time: any TimeSource, logger: Logger, metrics: MetricsRegistry) {
        let clock = DatabaseClock(pool: pool, time: time)
        self.init(time: time, logger: logger, metrics: metrics) { () throws(StoreError) in try await clock.compare()
        }
    }

    /// The time of the last comparison with agreeing clocks; `nil` if there was none.
    var agreedAt: ContinuousClock.Instant? { state.withLock(\.agreedAt) }

    /// The current offset; `nil` until the database has answered.
    package var offset: Duration? {
        state.withLock(\.last).map(offset)
    }

    package var verdict: Verdict {
        guard let last = state.withLock(\.last) else { return .unknown }
        let offset = offset(since: last)
        return last.differs(by: offset) ? .differ(offset) : .agree
    }

    /// The text of the problem for readiness and status; `nil` if the clocks agree.
    package var whatIsWrong: String? {
        switch verdict {
        case .agree: nil
        case .unknown: "the database's clock is not known yet"
        case .differ(let offset): Self.words(offset)
        }
    }

    /// Whether the clocks agree, by a comparison that is at most one second old; an older one is used if the database
    /// does not answer.
    package func agree() async -> Bool {
        await compare(ifOlderThan: Self.freshness)
        return verdict == .agree
    }

    /// Returns when the clocks agree, or when the drain begins.
    func hold(until drain: DrainSignal) async {
        while verdict != .agree, !drain.isDraining, !Task.isCancelled {
            await drain.pause(for: .milliseconds(100))
        }
    }

    /// Queries the database, unless there is a comparison younger than `age`, and logs a change.
    func compare(ifOlderThan age: Duration = .zero) async {
        let now = time.steady()
        let asking = state.withLock { state -> Task<Void, Never>? in
            if let asking = state.asking { return asking }
            if let last = state.last, now - last.steady < age { return nil }
            let asking = Task { await self.askOnce() }
            state.asking = asking
            return asking
        }
        // A cancelled caller must not wait for a database that does not answer; the others query again.
        await withTaskCancellationHandler {
            await asking?.value
        } onCancel: {
            asking?.cancel()
        }
        report()
    }

    private func askOnce() async {
        var answer: DatabaseClock.Comparison?
        do throws(StoreError) {
            answer = try await ask()
        } catch {
            logger.debug("cannot ask for the database's clock", ["error": .error(error)])
        }
        state.withLock { state in
            state.asking = nil
            guard let answer else { return }
            state.last = answer
            if !answer.differs(by: answer.offset) { state.agreedAt = answer.steady }
        }
    }

    private func report() {
        let verdict = verdict
        let former = state.withLock { state in
            defer { state.reported = verdict }
            return state.reported
        }
        switch (former, verdict) {
        case (.differ, .differ), (_, .unknown), (.unknown, .agree), (.agree, .agree): return
        case (_, .differ(let offset)):
            logger.error(
                "the clocks of this host and of the database differ, taking and planning nothing",
                ["offset": .text(Self.words(offset)), "whatToDo": .text("docs/runbooks/clocks.md")]
            )
        case (_, .agree): logger.notice("the clocks of this host and of the database agree again")
        }
    }

    private func offset(since last: DatabaseClock.Comparison) -> Duration {
        last.offset + (time.now() - last.wall) - (time.steady() - last.steady)
    }

    /// Returns the text of an offset for all reports.
    package static func words(_ offset: Duration) -> String {
        let isAhead = offset > .zero
        let distance = isAhead ? offset : .zero - offset
        return "this host's clock is \(distance.roughly) \(isAhead ? "ahead of" : "behind") the database's"
    }
}

/// Keeps a ``ClockWatch`` up to date: every ten seconds, and every second while the clocks differ.
///
/// A worker ends if they differ for one minute after they had agreed. Its messages then return to the broker, and its
/// successor consumes nothing before the clocks agree.
package struct ClockDuty: Service {
    package let name = "clock"
    private let watch: ClockWatch
    private let limit: Duration?

    /// The error that ends the process.
    struct Disagreement: Error, CustomStringConvertible {
        let description: String
    }

    /// Lets a process continue for `limit` while the clocks differ; `nil` is for a process that holds no messages.
    package init(_ watch: ClockWatch, endingAfter limit: Duration? = nil) {
        self.watch = watch
        self.limit = limit
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            await watch.compare()
            let hasEnded = limit.flatMap { limit in watch.agreedAt.map { .now - $0 > limit } } ?? false
            if hasEnded, case .differ(let offset) = watch.verdict {
                throw Disagreement(description: ClockWatch.words(offset))
            }
            await drain.pause(for: watch.verdict == .agree ? ClockWatch.interval : ClockWatch.freshness)
        }
    }

    /// The time for which a worker waits for agreeing clocks before it returns its messages.
    package static let patience = Duration.seconds(60)
}
