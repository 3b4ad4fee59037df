import Postgres
package import ServiceRuntime
import Store

/// Deletes notifications, lines, events, tombstones and ended devices that have been kept for long enough.
///
/// It walks through one table after the other without haste, a few hundred kilobytes at a time, and rests when it has
/// been through all of them. Any number may walk at once: what one has in hand the others pass by. Where the database is
/// away it goes on where it was; where a step is refused, the other tables are walked all the same.
///
/// Usually each walk deletes what has grown old since the last one. If it would be what has grown old in more than a day,
/// the table is counted first; if more than a fifth of it would go, nothing does until an operator has looked.
package struct RetentionDuty: Service {
    package let name = "retention"
    private let book: RetentionBook
    private let rhythm: Rhythm
    private let time: any TimeSource
    private let logger: Logger
    private let loop: DutyLoop
    private let retired: Labelled<Counter>
    private let failures: Labelled<Counter>
    private let doubted: Labelled<Counter>

    /// How fast it walks.
    package struct Rhythm: Sendable {
        /// Between two steps of a walk.
        package var step: Duration
        /// Between the end of the last walk and the next first one.
        package var rest: Duration
        /// What a step looks through: 64 pages are half a megabyte, and a thousand notifications or two.
        package var pages: Int64

        package init(step: Duration = .milliseconds(250), rest: Duration = .seconds(3600), pages: Int64 = 64) {
            self.step = step
            self.rest = rest
            self.pages = pages
        }
    }

    package init(tools: DutyTools, retention: Retention, rhythm: Rhythm = Rhythm()) {
        self.rhythm = rhythm
        time = tools.time
        book = RetentionBook(pool: tools.pool, retention: retention)
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.rest, trouble: "retention failed")
        retired = Self.retired(tools.metrics)
        failures = tools.metrics.counter(
            "bellhop_retention_failures_total",
            help: "Walks of the retention through one table that were broken off, since a step of it was refused.",
            labels: ["kind"]
        )
        doubted = tools.metrics.counter(
            "bellhop_retention_doubted_total",
            help: "Walks of the retention that deleted nothing, since more would have gone than is plausible.",
            labels: ["kind"]
        )
    }

    /// What everything counts that lets go of what was kept for long enough.
    static func retired(_ metrics: MetricsRegistry) -> Labelled<Counter> {
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

    /// Where it is in going through the tables.
    struct Round {
        private let kinds: [RetiredKind]
        private var place = 0
        var page: Int64 = 0
        /// Where the walk through this table began.
        private var start: Int64 = 0
        /// Where the next walk begins in tables of which one was broken off.
        private var ends: [RetiredKind: Int64] = [:]
        /// What the walk at hand has come to.
        var tally: [RetiredKind: Int] = [:]
        /// The count that has to come before the walk.
        var count: PreCount?
        /// Up to where counts have shown nothing odd.
        var believed: [RetiredKind: Instant] = [:]
        /// Where counts began that have shown too much: they are not repeated before somebody has set that back.
        var doubted: [RetiredKind: Instant?] = [:]
        /// When the notes of tables in which nothing was old were raised last.
        var raisedAt: [RetiredKind: ContinuousClock.Instant] = [:]

        /// A count of what would go.
        struct PreCount {
            /// What is noted of the last walk.
            let former: Instant?
            let limit: Instant
            var page: Int64? = 0
            var looked = 0
            var old = 0

            var isPlausible: Bool { old * RetentionDuty.share <= looked }
        }

        init(of kinds: [RetiredKind]) {
            self.kinds = kinds
        }

        /// Nil where nothing ever goes.
        var kind: RetiredKind? { kinds.indices.contains(place) ? kinds[place] : nil }

        /// Goes on to the next table; false behind the last one, from where it goes on with the first.
        mutating func turn() -> Bool {
            tally = [:]
            count = nil
            place = (place + 1) % max(1, kinds.count)
            page = kind.flatMap { ends.removeValue(forKey: $0) } ?? 0
            start = page
            return place > 0
        }

        /// The same where a step has failed, which the next walk begins with.
        ///
        /// If it fails again, the one after that begins with the table, so that what lies before it has its turns, too.
        mutating func breakOff() -> Bool {
            if let kind, page > start { ends[kind] = page }
            return turn()
        }
    }

    private func look(_ round: inout Round) async throws(PostgresError) -> DutyLoop.Next {
        guard let kind = round.kind else { return .later }
        let step: RetentionBook.Step
        do {
            if let count = round.count { return try await self.count(kind, count, &round) }
            let caution = RetentionBook.Caution(time: time, believed: round.believed[kind])
            step = try await book.look(for: kind, from: round.page, pages: rhythm.pages, with: caution)
        } catch {
            guard error.isRefusal else { throw error }
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

    private func meet(_ doubt: RetentionBook.Doubt, of kind: RetiredKind, _ round: inout Round) -> DutyLoop.Next {
        switch doubt {
        case .clocks:
            // The clocks may have stepped a moment ago: no turn begins until they agree.
            return .after(.seconds(1))
        case .leap(let former, _) where round.doubted[kind] == .some(former):
            doubted.with(kind.rawValue).increment()
            return round.turn() ? .after(rhythm.step) : .later
        case .leap(let former, let limit):
            round.count = Round.PreCount(former: former, limit: limit)
            return .after(rhythm.step)
        }
    }

    /// Goes on with the count, and begins the walk behind it if it is plausible.
    private func count(
        _ kind: RetiredKind,
        _ count: Round.PreCount,
        _ round: inout Round
    ) async throws(PostgresError) -> DutyLoop.Next {
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
            // Nothing would go, so that nothing shows whether the limit is right.
            try await raise(kind, from: former, &round)
            return round.turn() ? .after(rhythm.step) : .later
        }
        round.believed[kind] = count.limit
        return .after(rhythm.step)
    }

    /// By a day, and not again before a day has passed by the steady clock.
    private func raise(_ kind: RetiredKind, from former: Instant, _ round: inout Round) async throws(PostgresError) {
        let now = time.steady()
        if let last = round.raisedAt[kind], now - last < RetentionBook.leap { return }
        try await book.raise(kind, from: former)
        round.raisedAt[kind] = now
    }

    private func refuse(_ kind: RetiredKind, _ count: Round.PreCount) {
        doubted.with(kind.rawValue).increment()
        logger.error(
            "so much is older than the retention period that nothing is deleted: compare the clock and the setting",
            [
                "kind": .text(kind.rawValue), "old": .integer(count.old), "of": .integer(count.looked),
                "upTo": .text(count.limit.description), "whatToDo": .text("docs/runbooks/clocks.md"),
            ]
        )
    }

    /// No more than a fifth of a table may go beyond what has grown old within a day.
    static let share = 5

    /// One line for each walk that found something.
    private func say(_ tally: [RetiredKind: Int]) {
        guard !tally.isEmpty else { return }
        let figures = RetiredKind.allCases.compactMap { kind in tally[kind].map { (kind.rawValue, $0) } }
        logger.notice(
            "retention deleted expired rows",
            ["rows": .text(figures.map { "\($0)=\($1)" }.joined(separator: " "))]
        )
    }
}

extension PostgresError {
    /// Whether it says something of the statement; else the database is away, or wants the same again.
    fileprivate var isRefusal: Bool {
        switch code {
        case .server: !isTransient
        case .timedOut, .invalidParameter, .unexpectedResult: true
        case .cannotConnect, .connectionLost, .outcomeUnknown, .cancelled: false
        }
    }
}
