import BellhopRules
import Postgres
package import ServiceRuntime
import Store

/// Hands over what has fallen due and what was stranded, so that no crash between a commit and a publish is for ever.
///
/// Any number may run: each takes users that no other holds, moves their due time ahead, and publishes once for each
/// group. After a long pause it catches up at a bounded rate: each look takes a bounded number of each priority, and the
/// urgent are looked at again before each of the others.
package struct HandOver: Service {
    package let name = "hand-over"
    private let due: DueDeliveryBook
    private let resumes: ResumeSender
    private let logger: Logger
    private let loop: DutyLoop
    private let handedOver: Counter
    private let rate: Int
    private let watch: ClaimantWatch
    private let time: any TimeSource
    /// Between two looks from the very beginning, which alone find what was stranded.
    private let wholeLook: Duration

    /// When it looks and what it takes for stranded.
    package struct Rhythm: Sendable {
        package var interval: Duration
        /// How long overdue a retry or a claim must be.
        package var grace: Duration
        /// Notifications a second at most.
        package var rate: Int

        package init(interval: Duration = .seconds(1), grace: Duration = .seconds(300), rate: Int = 1000) {
            self.interval = interval
            self.grace = grace
            self.rate = max(1, rate)
        }
    }

    package init(tools: DutyTools, rhythm: Rhythm = Rhythm()) {
        rate = rhythm.rate
        wholeLook = min(rhythm.interval * 60, rhythm.grace / 5)
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.interval, trouble: "cannot read due deliveries")
        watch = ClaimantWatch(tools: tools, interval: rhythm.interval * 2)
        time = tools.time
        due = DueDeliveryBook(pool: tools.pool, strandedAfter: rhythm.grace)
        resumes = tools.resumes(logger)
        handedOver = tools.metrics.counter(
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

    /// What it remembers from one turn to the next.
    private struct Memory {
        private var looks: [Priority: LookBack]
        /// As many as are known from the watch.
        private var deaths = 0
        /// Hand-overs whose answer was lost.
        var lost: [LostTake] = []

        init(wholeLook: Duration) {
            looks = Dictionary(uniqueKeysWithValues: Priority.allCases.map { ($0, LookBack(whole: wholeLook)) })
        }

        subscript(priority: Priority) -> LookBack? {
            get { looks[priority] }
            set { looks[priority] = newValue }
        }

        /// What the dead had claimed fell due while they were taken to live.
        mutating func note(_ findings: ClaimantWatch.Findings) {
            guard findings.deaths != deaths else { return }
            deaths = findings.deaths
            for priority in looks.keys { looks[priority]?.beginAnew() }
        }
    }

    private func handOver(_ drain: DrainSignal, _ memory: inout Memory) async throws(PostgresError) -> DutyLoop.Next {
        let findings = watch.current
        memory.note(findings)
        try await handOverLost(drain, &memory, findings)
        var count = 0
        for priority in [Priority.high, .normal, .high, .low] where !drain.isDraining {
            let size = try await handOver(priority, drain, &memory, findings)
            count += size
            // No longer than a second, so that what falls due meanwhile and is urgent is not late.
            if size > 0 { await drain.pause(for: .seconds(1) * size / rate) }
        }
        return count > 0 ? .atOnce : .later
    }

    private func handOver(
        _ priority: Priority,
        _ drain: DrainSignal,
        _ memory: inout Memory,
        _ findings: ClaimantWatch.Findings
    ) async throws(PostgresError) -> Int {
        guard var look = memory[priority] else { return 0 }
        defer { memory[priority] = look }
        let begin = time.steady()
        let groups: DueItems<DueGroup>
        do throws(PostgresError) {
            groups = try await look.look { (span) throws(PostgresError) in
                try await due.take(priority, atMost: min(rate, Self.batch), within: span, claimedBy: findings.dead)
            }
        } catch {
            if error.code == .outcomeUnknown {
                memory.lost.append(LostTake(priority: priority, begin: begin, end: time.steady()))
            }
            throw error
        }
        return await publish(Array(groups), priority, drain)
    }

    /// Publishes what was taken by hand-overs whose answer was lost.
    ///
    /// A server may carry a statement out some time after its connection has broken, so each is looked for several times.
    private func handOverLost(
        _ drain: DrainSignal,
        _ memory: inout Memory,
        _ findings: ClaimantWatch.Findings
    ) async throws(PostgresError) {
        memory.lost.removeAll { time.steady() - $0.end > Self.patience }
        for lost in memory.lost {
            let groups = try await due.takeAgain(lost, claimedBy: findings.dead) { [time] in time.steady() }
            _ = await publish(groups, lost.priority, drain)
        }
    }

    private func publish(_ groups: [DueGroup], _ priority: Priority, _ drain: DrainSignal) async -> Int {
        guard !groups.isEmpty else { return 0 }
        // What is not confirmed comes up again in ten minutes.
        let unconfirmed = await resumes.send(groups: groups.map(\.notifications), lane: priority.lane, until: drain)
        let size = groups.reduce(0) { $0 + $1.notifications.count }
        handedOver.increment(by: size - unconfirmed.count)
        logger.info("handed over", ["notifications": .integer(size), "users": .integer(groups.count)])
        return size
    }

    /// For which what was lost is looked for: longer than such a statement takes.
    private static let patience = Duration.seconds(40)

    private static let batch = 1000
}
