package import AMQP
import BellhopRules
package import Postgres
package import ServiceRuntime
import Store

/// Settles a batch of events: each message ends recorded, stored, or dead-lettered with a reason.
///
/// What stands in the way of all of them (a database that is away, a broker that does not confirm) is waited out with the
/// messages in hand, unacknowledged; only a drain gives them back.
package struct FrontDoor: Sendable {
    private let catalogs: CatalogSource
    private let stores: Stores
    private let deadLetters: DeadLetterQueue
    private let eventsExchange: String
    private let surroundings: Surroundings

    /// Where the front door writes.
    package struct Stores: Sendable {
        let inbox: Inbox
        let plans: EventPlans
        let feeds: FeedStore

        package init(pool: PostgresPool) {
            inbox = Inbox(pool: pool)
            plans = EventPlans(pool: pool)
            feeds = FeedStore(pool: pool)
        }
    }

    /// Clock, log and meters.
    package struct Surroundings: Sendable {
        let time: any TimeSource
        let logger: Logger
        let metrics: FrontDoorMetrics

        package init(time: any TimeSource, logger: Logger, metrics: FrontDoorMetrics) {
            self.time = time
            self.logger = logger
            self.metrics = metrics
        }
    }

    package init(
        catalogs: CatalogSource, stores: Stores, publisher: Publisher, names: TopologyNames, surroundings: Surroundings
    ) {
        self.catalogs = catalogs
        self.stores = stores
        self.surroundings = surroundings
        eventsExchange = names.events
        deadLetters = DeadLetterQueue(publisher: publisher, exchange: names.dead, surroundings: surroundings)
    }

    /// Returns the messages that are done with and may be acknowledged; the others were given up because of the drain.
    func process(_ messages: [IncomingMessage], until drain: DrainSignal) async -> [IncomingMessage] {
        let started = surroundings.time.now()
        let sorted = SortedBatch(
            messages, catalogs: catalogs.current, eventsExchange: eventsExchange,
            arrival: Timestamp(clamping: started.microseconds)
        )
        let persistence = Persistence(drain: drain, surroundings: surroundings)
        // Rejections go out while the good ones are recorded: a flood of bad messages does not hold the good ones up.
        async let rejected = bury(sorted.faults, of: messages, drain)
        async let recorded = record(sorted.records, of: messages, persistence, drain)
        async let planned = plan(sorted, of: messages, persistence, drain)
        async let fed = feed(sorted.feeds, of: messages, persistence, drain)
        let unfinished = await rejected.union(recorded).union(planned).union(fed)
        surroundings.metrics.batch(messages.count, took: surroundings.time.now() - started)
        guard !unfinished.isEmpty else { return messages }
        return messages.indices.filter { !unfinished.contains($0) }.map { messages[$0] }
    }

    private func record(
        _ entries: [SortedBatch.Entry<InboxRecord>], of messages: [IncomingMessage], _ persistence: Persistence,
        _ drain: DrainSignal
    ) async -> Set<Int> {
        var unfinished: Set<Int> = []
        var conflicts: [Int: [InboxRecord]] = [:]
        var refusals: [SortedBatch.Entry<Fault>] = []
        for start in stride(from: 0, to: entries.count, by: Self.pairsPerStatement) {
            let chunk = entries[start..<min(start + Self.pairsPerStatement, entries.count)]
            let results = await persistence.write(chunk.map(\.work)) { [stores] records throws(PostgresError) in
                try await stores.inbox.record(records)
            }
            for (entry, result) in zip(chunk, results) {
                switch result {
                case .written(let outcome):
                    surroundings.metrics.count(outcome, entry.work)
                    if outcome == .conflict { conflicts[entry.index, default: []].append(entry.work) }
                case .refused(let why):
                    refusals.append(.init(index: entry.index, work: .refused(entry.work, why)))
                case .abandoned: unfinished.insert(entry.index)
                }
            }
        }
        refusals += conflicts.map { .init(index: $0.key, work: .conflict($0.value)) }
        return unfinished.union(await bury(refusals, of: messages, drain))
    }

    private func plan(
        _ sorted: SortedBatch, of messages: [IncomingMessage], _ persistence: Persistence, _ drain: DrainSignal
    ) async -> Set<Int> {
        var unfinished: Set<Int> = []
        var refusals: [SortedBatch.Entry<Fault>] = []
        let plans = await persistence.write(sorted.plans.map(\.work)) { [stores] plans throws(PostgresError) in
            try await stores.plans.keep(plans)
        }
        for (entry, result) in zip(sorted.plans, plans) {
            switch result {
            case .written(let outcome):
                surroundings.metrics.count(outcome, entry.work)
                if outcome == .conflict {
                    refusals.append(.init(index: entry.index, work: .conflict(entry.work)))
                }
            case .refused(let why): refusals.append(.init(index: entry.index, work: .refused(entry.work, why)))
            case .abandoned: unfinished.insert(entry.index)
            }
        }
        let cancelled = await persistence.write(sorted.cancellations.map(\.work)) {
            [stores] cancellations throws(PostgresError) in try await stores.plans.cancel(cancellations)
        }
        for (entry, result) in zip(sorted.cancellations, cancelled) {
            switch result {
            case .written: surroundings.metrics.countCancellation(entry.work.app)
            case .refused(let why): refusals.append(.init(index: entry.index, work: .refused(entry.work, why)))
            case .abandoned: unfinished.insert(entry.index)
            }
        }
        return unfinished.union(await bury(refusals, of: messages, drain))
    }

    private func feed(
        _ entries: [SortedBatch.Entry<FeedEntry>], of messages: [IncomingMessage], _ persistence: Persistence,
        _ drain: DrainSignal
    ) async -> Set<Int> {
        var unfinished: Set<Int> = []
        var refusals: [SortedBatch.Entry<Fault>] = []
        let results = await persistence.write(entries.map(\.work)) { [stores] feeds throws(PostgresError) in
            try await stores.feeds.apply(feeds)
        }
        for (entry, result) in zip(entries, results) {
            switch result {
            case .written: surroundings.metrics.countFeed(entry.work.update)
            case .refused(let why): refusals.append(.init(index: entry.index, work: .refused(entry.work, why)))
            case .abandoned: unfinished.insert(entry.index)
            }
        }
        return unfinished.union(await bury(refusals, of: messages, drain))
    }

    /// Dead-letters what is at fault and returns the indices of those that could not be, because of the drain.
    private func bury(
        _ faults: [SortedBatch.Entry<Fault>], of messages: [IncomingMessage], _ drain: DrainSignal
    ) async -> Set<Int> {
        guard !faults.isEmpty else { return [] }
        let casualties = faults.map { Casualty(message: messages[$0.index], fault: $0.work) }
        let buried = await deadLetters.bury(casualties, until: drain)
        return Set(zip(faults, buried).filter { !$1 }.map(\.0.index))
    }

    /// Bounds one statement whatever the audiences: 256 events of 1,000 users are many statements, not one.
    private static let pairsPerStatement = 1024
}
