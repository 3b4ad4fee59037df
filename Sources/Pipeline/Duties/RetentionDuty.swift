package import ServiceRuntime
package import Settings
import Store

/// Deletes notifications, deliveries, events, tombstones and ended devices whose retention period is over.
///
/// It walks through the tables in turn, a few hundred kilobytes at a time, and rests after the last one. Any number may
/// walk concurrently; each skips the rows that another has locked. If the database is unavailable, the walk continues
/// at the same place later. If a step is rejected, the other tables are still processed.
///
/// Usually each walk deletes the rows that have expired since the last one. If these are the rows of more than a day,
/// the table is counted first. If more than a fifth of it would be deleted, nothing is deleted until an operator has
/// checked.
package struct RetentionDuty: Service {
    package let name = "retention"
    private let book: RetentionStore
    private let rhythm: Rhythm
    private let time: any TimeSource
    private let logger: Logger
    private let loop: DutyLoop
    private let retired: LabelledMetric<Counter>
    private let failures: LabelledMetric<Counter>
    private let doubted: LabelledMetric<Counter>

    /// The speed of a walk.
    package struct Rhythm: Sendable {
        /// The pause between two steps of a walk.
        package var step: Duration
        /// The pause between the end of the last walk and the start of the next round.
        package var rest: Duration
        /// The size of a step: 64 pages are half a megabyte, and one or two thousand notifications.
        package var pages: Int64

        package init(step: Duration = .milliseconds(250), rest: Duration = .seconds(3600), pages: Int64 = 64) {
            self.step = step
            self.rest = rest
            self.pages = pages
        }
    }

    package init(context: SchedulerContext, retention: Retention, rhythm: Rhythm = Rhythm()) {
        self.rhythm = rhythm
        time = context.time
        book = RetentionStore(pool: context.pool, retention: retention)
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: rhythm.rest, trouble: "retention failed")
        retired = Self.retired(context.metrics)
        failures = context.metrics.counter(
            "bellhop_retention_failures_total",
            help: "Walks of the retention through one table that were broken off, since a step of it was refused.",
            labels: ["kind"]
        )
        doubted = context.metrics.counter(
            "bellhop_retention_doubted_total",
            help: "Walks of the retention that deleted nothing, since more would have gone than is plausible.",
            labels: ["kind"]
        )
    }

    /// Returns the common counter of all duties that delete expired data.
    static func retired(_ metrics: MetricsRegistry) -> LabelledMetric<Counter> {
        metrics.counter(
            "bellhop_retired_total",
            help: "Rows deleted, or tokens forgotten, because they had been kept for as long as is configured.",
            labels: ["kind"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var round = Round(of: book.kinds)
        await loop.run(until: drain) { try await look(&round) }
    }

    /// The position in the round through the tables.
    struct Round {
        private let kinds: [RetentionKind]
        private var place = 0
        var page: Int64 = 0
        /// The start page of the walk through this table.
        private var start: Int64 = 0
        /// The start pages of the next walks in tables whose walk was broken off.
        private var ends: [RetentionKind: Int64] = [:]
        /// The results of the current walk.
        var tally: [RetentionKind: Int] = [:]
        /// The count that must precede the walk.
        var count: PreCount?
        /// The limits up to which counts were plausible.
        var believed: [RetentionKind: Instant] = [:]
        /// The starting points of counts that were implausible.
        ///
        /// They are not repeated until an operator has reset them.
        var doubted: [RetentionKind: Instant?] = [:]
        /// The times of the last limit increase for tables without expired rows.
        var raisedAt: [RetentionKind: ContinuousClock.Instant] = [:]

        /// A count of the rows that would be deleted.
        struct PreCount {
            /// The recorded limit of the last walk.
            let former: Instant?
            let limit: Instant
            var page: Int64? = 0
            var looked = 0
            var old = 0

            var isPlausible: Bool { old * RetentionDuty.share <= looked }
        }

        init(of kinds: [RetentionKind]) {
            self.kinds = kinds
        }

        /// The current table; `nil` if nothing is ever deleted.
        var kind: RetentionKind? { kinds.indices.contains(place) ? kinds[place] : nil }

        /// Moves to the next table, and after the last one to the first.
        ///
        /// It returns `false` after the last one.
        mutating func turn() -> Bool {
            tally = [:]
            count = nil
            place = (place + 1) % max(1, kinds.count)
            page = kind.flatMap { ends.removeValue(forKey: $0) } ?? 0
            start = page
            return place > 0
        }

        /// Moves to the next table after a failed step; the next walk begins with that step.
        ///
        /// If the step fails again, the walk after that begins at the start of the table, so that the pages before the
        /// step are processed, too.
        mutating func breakOff() -> Bool {
            if let kind, page > start { ends[kind] = page }
            return turn()
        }
    }

    private func look(_ round: inout Round) async throws(StoreError) -> DutyLoop.Next {
        guard let kind = round.kind else { return .later }
        let step: RetentionStore.Step
        do {
            if let count = round.count { return try await self.count(kind, count, &round) }
            let caution = RetentionStore.Caution(time: time, believed: round.believed[kind])
            step = try await book.look(for: kind, from: round.page, pages: rhythm.pages, with: caution)
        } catch {
            guard error.concernsStatement else { throw error }
            failures.with(kind.rawValue).increment()
            logger.warning(
                "retention failed for this kind, continuing with the next",
                ["kind": .text(kind.rawValue), "error": .error(error)]
            )
            say(round.tally)
            return round.breakOff() ? .after(rhythm.step) : .later
        }
        if let doubt = step.doubt { return meet(doubt, of: kind, &round) }
        for (kind, count) in step.retired where count > 0 {
            retired.with(kind.rawValue).increment(by: count)
            round.tally[kind, default: 0] += count
        }
        if let next = step.next {
            round.page = next
            return .after(rhythm.step)
        }
        say(round.tally)
        return round.turn() ? .after(rhythm.step) : .later
    }

    private func meet(_ doubt: RetentionStore.Doubt, of kind: RetentionKind, _ round: inout Round) -> DutyLoop.Next {
        switch doubt {
        case .clocks:
            // The clocks may have changed a moment ago; no turn begins until they agree.
            return .after(.seconds(1))
        case .leap(let former, _) where round.doubted[kind] == .some(former):
            doubted.with(kind.rawValue).increment()
            return round.turn() ? .after(rhythm.step) : .later
        case .leap(let former, let limit):
            round.count = Round.PreCount(former: former, limit: limit)
            return .after(rhythm.step)
        }
    }

    /// Continues the count, and begins the walk afterwards if the count is plausible.
    private func count(
        _ kind: RetentionKind,
        _ count: Round.PreCount,
        _ round: inout Round
    ) async throws(StoreError) -> DutyLoop.Next {
        var count = count
        if let page = count.page {
            let part = try await book.count(kind, from: page, pages: rhythm.pages, upTo: count.limit)
            count.looked += part.looked
            count.old += part.old
            count.page = part.next
            round.count = count
            if part.next != nil { return .after(rhythm.step) }
        }
        round.count = nil
        guard count.isPlausible else {
            refuse(kind, count)
            round.doubted[kind] = .some(count.former)
            return round.turn() ? .after(rhythm.step) : .later
        }
        round.doubted[kind] = nil
        if count.old == 0, let former = count.former {
            // Nothing would be deleted, so nothing shows whether the limit is right.
            try await raise(kind, from: former, &round)
            return round.turn() ? .after(rhythm.step) : .later
        }
        round.believed[kind] = count.limit
        return .after(rhythm.step)
    }

    /// Raises the limit by a day, and not again before a day has passed on the steady clock.
    private func raise(_ kind: RetentionKind, from former: Instant, _ round: inout Round) async throws(StoreError) {
        let now = time.steady()
        if let last = round.raisedAt[kind], now - last < RetentionStore.leap { return }
        try await book.raise(kind, from: former)
        round.raisedAt[kind] = now
    }

    private func refuse(_ kind: RetentionKind, _ count: Round.PreCount) {
        doubted.with(kind.rawValue).increment()
        logger.error(
            "so much is older than the retention period that nothing is deleted: compare the clock and the setting",
            [
                "kind": .text(kind.rawValue), "old": .integer(count.old), "of": .integer(count.looked),
                "upTo": .text(count.limit.description), "whatToDo": .text("docs/runbooks/clocks.md"),
            ]
        )
    }

    /// At most a fifth of a table may be deleted beyond the rows that expired within a day.
    static let share = 5

    /// Logs one line for each walk with deletions.
    private func say(_ tally: [RetentionKind: Int]) {
        guard !tally.isEmpty else { return }
        let figures = RetentionKind.allCases.compactMap { kind in tally[kind].map { (kind.rawValue, $0) } }
        logger.notice(
            "retention deleted expired rows",
            ["rows": .text(figures.map { "\($0)=\($1)" }.joined(separator: " "))]
        )
    }
}

/// Deletes resolved and discarded dead letters after their retention period.
package struct DeadLetterRetentionDuty: Service {
    package let name = "dead-letter retention"
    private let retirement: DeadLetterRetentionStore
    private let context: SchedulerContext
    private let logger: Logger
    private let loop: DutyLoop
    private let deleted: Counter

    package init(context: SchedulerContext, retention: DeadLetterRetention, interval: Duration = .seconds(600)) {
        self.context = context
        retirement = DeadLetterRetentionStore(pool: context.pool, retention: retention)
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot delete old dead letters")
        deleted = RetentionDuty.retired(context.metrics).with("letters")
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain, deleteBatch)
    }

    private func deleteBatch() async throws(StoreError) -> DutyLoop.Next {
        let count = try await retirement.deleteBatch(notBeyond: context.latest)
        guard count > 0 else {
            try await retirement.forgetReplays(notBeyond: context.latest)
            return .later
        }
        deleted.increment(by: count)
        logger.notice("deleted old dead letters", ["items": .integer(count)])
        return .after(Self.breath)
    }

    private static let breath = Duration.milliseconds(200)
}
