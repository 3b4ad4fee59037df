import Postgres
package import ServiceRuntime
import Store

/// Deletes notifications, lines, events, tombstones and ended devices that have been kept for long enough.
///
/// It walks through one table after the other without haste, a few hundred kilobytes at a time, and rests when it has
/// been through all of them. Any number may walk at once: what one has in hand the others pass by. Where the database is
/// away it goes on where it was; where a step is refused, the other tables are walked all the same.
package struct RetentionDuty: Service {
    package let name = "retention"
    private let book: RetentionBook
    private let rhythm: Rhythm
    private let logger: Logger
    private let loop: DutyLoop
    private let retired: Labelled<Counter>
    private let failures: Labelled<Counter>

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
        book = RetentionBook(pool: tools.pool, retention: retention)
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.rest, trouble: "what was kept for long enough cannot be deleted")
        retired = Self.retired(tools.metrics)
        failures = tools.metrics.counter(
            "bellhop_retention_failures_total",
            help: "Walks of the retention through one table that were broken off, since a step of it was refused.",
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

        init(of kinds: [RetiredKind]) {
            self.kinds = kinds
        }

        /// Nil where nothing ever goes.
        var kind: RetiredKind? { kinds.indices.contains(place) ? kinds[place] : nil }

        /// Goes on to the next table; false behind the last one, from where it goes on with the first.
        mutating func turn() -> Bool {
            tally = [:]
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
            step = try await book.look(for: kind, from: round.page, pages: rhythm.pages)
        } catch {
            guard error.isRefusal else { throw error }
            failures.with(kind.rawValue).increment()
            logger.warning(
                "cannot let go of what was kept for long enough, going on with the next kind",
                ["kind": .text(kind.rawValue), "error": .error(error)]
            )
            say(round.tally)
            return round.breakOff() ? .after(rhythm.step) : .later
        }
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

    /// One line for each walk that found something.
    private func say(_ tally: [RetiredKind: Int]) {
        guard !tally.isEmpty else { return }
        let figures = RetiredKind.allCases.compactMap { kind in tally[kind].map { (kind.rawValue, $0) } }
        logger.notice(
            "let go of what was kept for long enough",
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
