package import AMQP
import BellhopRules
package import Postgres
package import ServiceRuntime
import Store

/// Takes a batch of messages in: each ends recorded, stored, claimed for sending, or dead-lettered with a reason.
///
/// What stands in the way of all of them (a database that is away, a broker that does not confirm) is waited out with the
/// messages in hand, unacknowledged; only a drain gives them back.
package struct FrontDoor: Sendable {
    private let catalogs: CatalogSource
    private let senders: SenderDirectory
    private let inbox: Inbox
    private let directory: RecipientDirectory
    private let plans: EventPlans
    private let feeds: FeedStore
    private let names: TopologyNames
    private let deadLetters: DeadLetterQueue
    private let resumption: Resumption
    private let courier: Courier
    private let surroundings: Surroundings

    /// Clock, log and meters.
    package struct Surroundings: Sendable {
        let time: any TimeSource
        let logger: Logger
        let metrics: PipelineMetrics

        package init(time: any TimeSource, logger: Logger, metrics: PipelineMetrics) {
            self.time = time
            self.logger = logger
            self.metrics = metrics
        }
    }

    /// What it works with.
    package struct Tools: Sendable {
        let pool: PostgresPool
        let publisher: Publisher
        let names: TopologyNames
        let senders: SenderDirectory
        let policy: DeliveryPolicy

        package init(
            pool: PostgresPool,
            publisher: Publisher,
            names: TopologyNames,
            senders: SenderDirectory,
            policy: DeliveryPolicy
        ) {
            self.pool = pool
            self.publisher = publisher
            self.names = names
            self.senders = senders
            self.policy = policy
        }
    }

    package init(catalogs: CatalogSource, tools: Tools, surroundings: Surroundings) {
        self.catalogs = catalogs
        self.surroundings = surroundings
        senders = tools.senders
        names = tools.names
        inbox = Inbox(pool: tools.pool)
        directory = RecipientDirectory(pool: tools.pool)
        plans = EventPlans(pool: tools.pool)
        feeds = FeedStore(pool: tools.pool)
        deadLetters = DeadLetterQueue(
            publisher: tools.publisher,
            exchange: tools.names.dead,
            surroundings: surroundings
        )
        let ledger = Ledger(pool: tools.pool, lease: tools.policy.lease)
        resumption = Resumption(ledger: ledger, inbox: inbox, directory: directory, ladder: tools.policy.ladder)
        courier = Courier(
            dispatcher: Dispatcher(senders: tools.senders),
            ladder: tools.policy.ladder,
            ledger: ledger,
            revocations: Revocations(pool: tools.pool),
            resumes: ResumeSender(publisher: tools.publisher, names: tools.names, logger: surroundings.logger),
            deadLetters: deadLetters,
            surroundings: surroundings
        )
    }

    // MARK: - Two phases

    /// What a batch has become once everything of it is stored: what is left is to send.
    struct Intake: Sendable {
        let messages: [IncomingMessage]
        let run: Courier.Run
        fileprivate(set) var unfinished: Set<Int> = []
        fileprivate(set) var parcels: [Parcel] = []
        fileprivate var withheld: [DeliveryOutcome] = []
        fileprivate var later: [ResumeSender.Way: [NotificationKey]] = [:]
        fileprivate var laterIndices: Set<Int> = []
    }

    /// The first phase: everything that the database and the dead-letter queue have to know.
    func takeIn(_ messages: [IncomingMessage], lane: Lane, until drain: DrainSignal) async -> Intake {
        let started = surroundings.time.now()
        let now = Timestamp(clamping: started.microseconds)
        let catalogs = catalogs.current
        var chance = SystemRandomNumberGenerator()
        var intake = Intake(
            messages: messages,
            run: Courier.Run(claim: Claim(using: &chance), lane: lane, drain: drain)
        )
        let sorted = SortedBatch(messages, catalogs: catalogs, names: names, arrival: now)
        let persistence = Persistence(drain: drain, surroundings: surroundings)
        let decider = Decider(catalogs: catalogs, senders: senders, now: now)
        // Rejections go out while the good ones are recorded: a flood of bad messages does not hold the good ones up.
        async let rejected = bury(sorted.faults, of: messages, drain)
        async let planned = plan(sorted, of: messages, persistence, drain)
        // What a producer fed before its event in the same batch counts for the event.
        intake.unfinished.formUnion(await feed(sorted.feeds, of: messages, persistence, drain))
        await record(sorted.records, decider, persistence, into: &intake, sorted.resumed)
        intake.unfinished.formUnion(await rejected.union(planned))
        let span = surroundings.time.now() - started
        surroundings.metrics.batch(messages.count, took: span)
        surroundings.logger.info("took in a batch", sorted.summary(intake, took: span))
        return intake
    }

    /// The second phase: sends what was claimed and settles it.
    ///
    /// - Returns: the messages that are done with and may be acknowledged; the others were given up because of a drain.
    func deliver(_ intake: Intake) async -> [IncomingMessage] {
        var unfinished = intake.unfinished
        unfinished.formUnion(await courier.settle(intake.withheld, intake.run))
        unfinished.formUnion(await courier.deliver(intake.parcels, intake.run))
        if !(await courier.resumeLater(intake.later, intake.run)) { unfinished.formUnion(intake.laterIndices) }
        guard !unfinished.isEmpty else { return intake.messages }
        return intake.messages.indices.filter { !unfinished.contains($0) }.map { intake.messages[$0] }
    }

    // MARK: - Notifications

    private func record(
        _ entries: [SortedBatch.Entry<InboxRecord>],
        _ decider: Decider,
        _ persistence: Persistence,
        into intake: inout Intake,
        _ resumed: [SortedBatch.Entry<NotificationKey>]
    ) async {
        var owed = resumed
        var refusals: [SortedBatch.Entry<Fault>] = []
        var conflicts: [Int: [InboxRecord]] = [:]
        for start in stride(from: 0, to: entries.count, by: Self.pairsPerStatement) {
            let chunk = Array(entries[start..<min(start + Self.pairsPerStatement, entries.count)])
            guard let opened = await open(chunk, decider, persistence) else {
                intake.unfinished.formUnion(chunk.map(\.index))
                continue
            }
            let results = await persistence.write(opened.records) {
                [inbox, claim = intake.run.claim] records throws(PostgresError) in
                try await inbox.record(records, as: claim)
            }
            for (position, (entry, result)) in zip(chunk, results).enumerated() {
                switch result {
                case .written(.recorded): intake.parcels += opened.parcels[position]
                case .written(.duplicate): owed.append(.init(index: entry.index, work: entry.work.key))
                case .written(.conflict): conflicts[entry.index, default: []].append(entry.work)
                case .written(.recipientErased): break
                case .refused(let why): refusals.append(.init(index: entry.index, work: .refused(entry.work, why)))
                case .abandoned: intake.unfinished.insert(entry.index)
                }
            }
            surroundings.metrics.count(results, chunk)
        }
        // A copy inside this batch has nothing of its own to do: its twin's lines are under this very claim.
        if !owed.isEmpty {
            let taken = Set(intake.parcels.map(\.key.notification))
            owed.removeAll { taken.contains($0.work) }
        }
        refusals += conflicts.map { .init(index: $0.key, work: .conflict($0.value)) }
        intake.unfinished.formUnion(await bury(refusals, of: intake.messages, intake.run.drain))
        await resume(owed, decider, persistence, into: &intake)
    }

    /// Looks the recipients up and decides, so that each record enters the ledger with its deliveries.
    private func open(
        _ entries: [SortedBatch.Entry<InboxRecord>],
        _ decider: Decider,
        _ persistence: Persistence
    ) async -> (records: [InboxRecord], parcels: [[Parcel]])? {
        let keys = Set(entries.map(\.work.key.recipient))
        let recipients = await persistence.insist { [directory] () throws(PostgresError) in
            try await directory.recipients(of: keys)
        }
        guard let recipients else { return nil }
        var records = entries.map(\.work)
        var parcels: [[Parcel]] = []
        parcels.reserveCapacity(records.count)
        for (position, entry) in entries.enumerated() {
            let record = entry.work
            let opened = decider.open(
                record.key,
                record.words.content,
                for: recipients[record.key.recipient] ?? Recipient(),
                index: entry.index
            )
            records[position].deliveries = opened.lines
            parcels.append(opened.parcels)
        }
        return (records, parcels)
    }

    private func resume(
        _ owed: [SortedBatch.Entry<NotificationKey>],
        _ decider: Decider,
        _ persistence: Persistence,
        into intake: inout Intake
    ) async {
        guard !owed.isEmpty else { return }
        guard
            let work = await resumption.take(owed, claim: intake.run.claim, decider: decider, persistence: persistence)
        else {
            intake.unfinished.formUnion(owed.map(\.index))
            return
        }
        intake.parcels += work.parcels
        intake.withheld = work.withheld
        intake.later = work.later
        let later = Set(work.later.values.joined())
        intake.laterIndices = Set(owed.filter { later.contains($0.work) }.map(\.index))
    }

    // MARK: - Plans and feeds

    private func plan(
        _ sorted: SortedBatch,
        of messages: [IncomingMessage],
        _ persistence: Persistence,
        _ drain: DrainSignal
    ) async -> Set<Int> {
        var unfinished: Set<Int> = []
        var refusals: [SortedBatch.Entry<Fault>] = []
        let kept = await persistence.write(sorted.plans.map(\.work)) { [plans] entries throws(PostgresError) in
            try await plans.keep(entries)
        }
        for (entry, result) in zip(sorted.plans, kept) {
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
            [plans] cancellations throws(PostgresError) in try await plans.cancel(cancellations)
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
        _ entries: [SortedBatch.Entry<FeedEntry>],
        of messages: [IncomingMessage],
        _ persistence: Persistence,
        _ drain: DrainSignal
    ) async -> Set<Int> {
        var unfinished: Set<Int> = []
        var refusals: [SortedBatch.Entry<Fault>] = []
        let results = await persistence.write(entries.map(\.work)) { [feeds] entries throws(PostgresError) in
            try await feeds.apply(entries)
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
        _ faults: [SortedBatch.Entry<Fault>],
        of messages: [IncomingMessage],
        _ drain: DrainSignal
    ) async -> Set<Int> {
        guard !faults.isEmpty else { return [] }
        let casualties = faults.map { Casualty.message(messages[$0.index], $0.work) }
        let buried = await deadLetters.bury(casualties, until: drain)
        return Set(zip(faults, buried).filter { !$1 }.map(\.0.index))
    }

    /// Bounds one statement whatever the audiences: 256 events of 1,000 users are many statements, not one.
    private static let pairsPerStatement = 1024
}
