import BellhopRules
package import ServiceRuntime
import Store

/// The sweeper: releases due and stranded deliveries, so that no crash between a commit and a publish has permanent effects.
///
/// Any number may run: each takes users that no other holds, postpones their due time and publishes once per group.
/// After a long outage it catches up at a bounded rate. Each poll takes a bounded number per priority, and urgent
/// deliveries are polled again before each of the other priorities.
package struct DueDeliveryDuty: Service {
    package let name = "hand-over"
    private let due: DueDeliveryStore
    private let resumes: ResumeSender
    private let logger: Logger
    private let loop: DutyLoop
    private let handedOver: Counter
    private let rate: Int
    let watch: ClaimantWatch
    private let time: any TimeSource
    private let failing: [Priority: FailingUsers]
    /// The interval between two polls from the beginning, which alone find stranded deliveries.
    private let wholeLook: Duration

    /// The poll interval, and the age of stranded deliveries.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// The time for which a retry or a claim must be overdue.
        package var grace: Duration
        /// The maximum of notifications per second.
        package var rate: Int

        package init(interval: Duration = .seconds(1), grace: Duration = .seconds(300), rate: Int = 1000) {
            self.interval = interval
            self.grace = grace
            self.rate = max(1, rate)
        }
    }

    package init(context: SchedulerContext, rhythm: Rhythm = Rhythm()) {
        let logger = context.logger.labelled(name)
        failing = Dictionary(
            uniqueKeysWithValues: Priority.allCases.map { ($0, context.failingUsers("hand-over", logger)) }
        )
        rate = rhythm.rate
        wholeLook = min(rhythm.interval * 60, rhythm.grace / 5)
        self.logger = logger
        loop = context.loop(of: name, every: rhythm.interval, trouble: "cannot read due deliveries")
        watch = ClaimantWatch(context: context, interval: rhythm.interval * 2)
        time = context.time
        due = DueDeliveryStore(pool: context.pool, strandedAfter: rhythm.grace)
        resumes = context.resumes(logger)
        handedOver = context.metrics.counter(
            "bellhop_handed_over_total",
            help: "Due or stranded notifications released."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await watch.run(until: drain) }
            var memory = Memory(wholeLook: wholeLook)
            await loop.run(until: drain) { try await handOver(drain, &memory) }
        }
    }

    /// The state that is kept between turns.
    private struct Memory {
        private var looks: [Priority: PollWindow]
        /// The last known death count of the watch.
        private var deaths = 0
        /// Releases whose answer was lost.
        var lost: [Lost] = []

        init(wholeLook: Duration) {
            looks = Dictionary(uniqueKeysWithValues: Priority.allCases.map { ($0, PollWindow(whole: wholeLook)) })
        }

        subscript(priority: Priority) -> PollWindow? {
            get { looks[priority] }
            set { looks[priority] = newValue }
        }

        /// Starts full polls after a death: the claims of dead processes fell due while these counted as alive.
        mutating func note(_ findings: ClaimantWatch.Findings) {
            guard findings.deaths != deaths else { return }
            deaths = findings.deaths
            for priority in looks.keys { looks[priority]?.beginAnew() }
        }
    }

    /// A release whose answer was lost, and the time of the first search that the server answered.
    private struct Lost {
        var take: LostTake
        private(set) var searchedSince: ContinuousClock.Instant?

        init(_ take: LostTake) {
            self.take = take
        }

        mutating func noteAnswer(at now: ContinuousClock.Instant) {
            searchedSince = searchedSince ?? now
        }
    }

    private func handOver(_ drain: DrainSignal, _ memory: inout Memory) async throws(StoreError) -> DutyLoop.Next {
        let findings = watch.current
        memory.note(findings)
        await handOverLost(drain, &memory, findings)
        var count = 0
        var failure: StoreError?
        for priority in [Priority.high, .normal, .high, .low] where !drain.isDraining {
            let size: Int
            do throws(StoreError) {
                size = try await handOver(priority, drain, &memory, findings)
            } catch {
                // A row on which the server fails stops its own priority only.
                guard error.mayPassForOthers else { throw error }
                failure = error
                continue
            }
            count += size
            // At most one second, so that urgent deliveries that fall due meanwhile are not late.
            if size > 0 { await drain.pause(for: .seconds(1) * size / rate) }
        }
        if let failure {
            guard count > 0 else { throw failure }
            logger.warning("cannot read due deliveries of a priority", ["error": .error(failure)])
            return .later
        }
        return count > 0 ? .atOnce : .later
    }

    private func handOver(
        _ priority: Priority,
        _ drain: DrainSignal,
        _ memory: inout Memory,
        _ findings: ClaimantWatch.Findings
    ) async throws(StoreError) -> Int {
        guard var look = memory[priority] else { return 0 }
        defer { memory[priority] = look }
        let groups = try await look.look { (span) throws(StoreError) in
            try await take(priority, within: span, &memory, findings)
        }
        return await publish(Array(groups), priority, drain)
    }

    private func take(
        _ priority: Priority,
        within span: Duration,
        _ memory: inout Memory,
        _ findings: ClaimantWatch.Findings
    ) async throws(StoreError) -> DuePollResult<DueGroup> {
        let limit = min(rate, Self.batch)
        guard let failing = failing[priority] else { return DuePollResult(joining: [], left: nil) }
        let taken = try await failing.take(atMost: limit) { (users) throws(StoreError) in
            try await due.head(priority, atMost: limit, within: span, claimedBy: findings.dead, of: users)
        } count: { groups in
            groups.reduce(0) { $0 + $1.notifications.count }
        } isRest: {
            $0.left == nil
        } _: { (users, limit) throws(StoreError) -> DuePollResult<DueGroup> in
            let begin = time.steady()
            do throws(StoreError) {
                return try await due.take(
                    priority,
                    atMost: limit,
                    within: users.span(span),
                    claimedBy: findings.dead,
                    of: users
                )
            } catch {
                if error.code == .outcomeUnknown {
                    let take = LostTake(priority: priority, begin: begin, end: time.steady())
                    memory.lost = memory.lost.suffix(Self.mostLost - 1) + [Lost(take)]
                }
                throw error
            }
        }
        return DuePollResult(taken)
    }

    /// Publishes deliveries from releases whose answer was lost.
    ///
    /// A server may execute a statement some time after its connection has broken, so it searches for each several
    /// times. The period begins with the first search that the server answers: the database may be unavailable for
    /// longer. A search that fails stops no other release.
    private func handOverLost(
        _ drain: DrainSignal,
        _ memory: inout Memory,
        _ findings: ClaimantWatch.Findings
    ) async {
        for number in memory.lost.indices {
            let take = memory.lost[number].take
            do throws(StoreError) {
                let groups = try await due.takeAgain(take, claimedBy: findings.dead) { [time] in time.steady() }
                memory.lost[number].noteAnswer(at: time.steady())
                _ = await publish(groups, take.priority, drain)
            } catch {
                logger.warning("cannot read a lost release", ["error": .error(error)])
                if error.code == .outcomeUnknown {
                    // The search itself may have taken the rows, so that they are due later than before.
                    memory.lost[number].take = LostTake(priority: take.priority, begin: take.begin, end: time.steady())
                } else if error.mayPassForOthers {
                    memory.lost[number].noteAnswer(at: time.steady())
                }
            }
        }
        memory.lost.removeAll { time.steady() - ($0.searchedSince ?? time.steady()) > Self.patience }
    }

    private func publish(_ groups: [DueGroup], _ priority: Priority, _ drain: DrainSignal) async -> Int {
        guard !groups.isEmpty else { return 0 }
        // Deliveries without a confirm are due again in ten minutes.
        let unconfirmed = await resumes.send(groups: groups.map(\.notifications), lane: priority.lane, until: drain)
        let size = groups.reduce(0) { $0 + $1.notifications.count }
        handedOver.increment(by: size - unconfirmed.count)
        logger.info("handed over", ["notifications": .integer(size), "users": .integer(groups.count)])
        return size
    }

    /// The period of the search for a lost release; longer than such a statement takes.
    private static let patience = Duration.seconds(40)
    /// The maximum number of lost releases that are searched for, the latest.
    private static let mostLost = 100

    private static let batch = 1000
}
