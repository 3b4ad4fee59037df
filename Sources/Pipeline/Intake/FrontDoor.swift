package import AMQP
import BellhopRules
package import Postgres
package import ServiceRuntime
import Store
import Synchronization

/// Takes a batch of messages in: each ends recorded, stored, claimed for sending, or dead-lettered with a reason.
///
/// What stands in the way of all of them (a database that is away, a broker that does not confirm) is waited out with the
/// messages in hand, unacknowledged; only a drain gives them back.
package struct FrontDoor: Sendable {
    private let catalogs: CatalogSource
    private let senders: SenderDirectory
    private let zones: ZoneLibrary
    private let recorder: Recorder
    private let keeper: Keeper
    private let names: TopologyNames
    private let deadLetters: DeadLetterQueue
    private let directory: RecipientBook
    private let resumption: Resumption
    private let courier: Courier
    private let reports: ReplayReportBook
    private let surroundings: Surroundings
    /// Says in the log what is taken in; a service beside the lanes.
    package let report: IntakeReport

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
        let breakers: Breakers
        let policy: DeliveryPolicy

        package init(
            pool: PostgresPool,
            publisher: Publisher,
            names: TopologyNames,
            senders: SenderDirectory,
            breakers: Breakers,
            policy: DeliveryPolicy
        ) {
            self.pool = pool
            self.publisher = publisher
            self.names = names
            self.senders = senders
            self.breakers = breakers
            self.policy = policy
        }
    }

    /// The catalogues are taken as they are when a batch begins; the zones are the clocks of users.
    package init(catalogs: CatalogSource, zones: ZoneLibrary, tools: Tools, surroundings: Surroundings) {
        self.catalogs = catalogs
        self.zones = zones
        self.surroundings = surroundings
        report = IntakeReport(logger: surroundings.logger)
        senders = tools.senders
        names = tools.names
        reports = ReplayReportBook(pool: tools.pool)
        let inbox = Inbox(pool: tools.pool)
        directory = RecipientBook(pool: tools.pool)
        recorder = Recorder(inbox: inbox, directory: directory, metrics: surroundings.metrics)
        keeper = Keeper(
            plans: EventBook(pool: tools.pool),
            feeds: FeedBook(pool: tools.pool),
            metrics: surroundings.metrics
        )
        courier = Courier(tools: tools, surroundings: surroundings)
        deadLetters = courier.deadLetters
        resumption = Resumption(
            ledger: courier.ledger,
            inbox: inbox,
            directory: directory,
            ladder: tools.policy.ladder
        )
    }

    /// What a batch has become once everything of it is stored: what is left is to send, and to dead-letter.
    ///
    /// The messages themselves are forgotten by then, but for those that are at fault.
    struct Intake: Sendable {
        let tags: [DeliveryTag]
        let run: Courier.Run
        /// Messages that are at fault, each with its position; one may be there more than once.
        fileprivate var casualties: [SortedBatch.Entry<Casualty>] = []
        fileprivate(set) var unfinished: Set<Int> = []
        fileprivate(set) var parcels: [Parcel] = []
        fileprivate var badges: [Parcel] = []
        fileprivate var withheld: [DeliveryOutcome] = []
        fileprivate var later: [ResumeSender.Way: [NotificationKey]] = [:]
        fileprivate var laterIndices: Set<Int> = []

        /// Bytes of what the notifications say, while pushes of theirs are under way.
        var sendingWeight: Int { parcels.isEmpty ? 0 : footprint }

        fileprivate var footprint = 0
    }

    /// The first phase: everything that the database has to know.
    func takeIn(_ messages: [IncomingMessage], _ shift: Courier.Shift) async -> Intake {
        let started = surroundings.time.now()
        let now = Timestamp(clamping: started.microseconds)
        let catalogs = catalogs.current
        var chance = SystemRandomNumberGenerator()
        var intake = Intake(
            tags: messages.map(\.tag),
            run: Courier.Run(claim: Claim(using: &chance), shift: shift)
        )
        let sorted = SortedBatch(messages, catalogs: catalogs, names: names, arrival: now)
        let persistence = Persistence(drain: shift.drain, surroundings: surroundings)
        let decider = Decider(catalogs: catalogs, senders: senders, zones: zones, now: now)
        async let kept = keeper.keep(sorted.plans, cancelling: sorted.cancellations, persistence)
        for app in sorted.repaired { surroundings.metrics.countRepair(app) }
        // What a producer fed before its event in the same batch counts for the event.
        let fed = await keeper.feed(sorted.feeds, persistence)
        let recorded = await recorder.record(sorted.records, as: intake.run.claim, decider, persistence)
        intake.parcels = recorded.parcels
        intake.footprint = sorted.footprint
        await resume(sorted.resumed + recorded.duplicates, sorted.heirs, decider, persistence, into: &intake)
        await tell(sorted.badges, decider, persistence, into: &intake)
        let faults = recorded.faults + fed.faults + (await kept.faults)
        for part in [recorded.unfinished, fed.unfinished, await kept.unfinished] {
            intake.unfinished.formUnion(part)
        }
        intake.casualties = Self.casualties(sorted.faults + faults, of: messages, sorted)
        intake.unfinished.formUnion(await report(sorted, recorded, faults, intake.unfinished, persistence))
        let span = surroundings.time.now() - started
        surroundings.metrics.batch(messages.count, took: span)
        let summary = sorted.summary(intake, took: span)
        surroundings.logger.debug("took in a batch", summary.fields)
        report.add(summary)
        return intake
    }

    /// The second phase: sends what was claimed and settles it, and dead-letters what is at fault.
    ///
    /// Calls `done` with messages as soon as all of theirs is settled, so that one that waits for a slow provider does not
    /// keep the others of its batch from being acknowledged. What a drain gives up is never done; what waits for the
    /// confirm of a dead letter may be done after this has returned.
    func deliver(_ intake: Intake, _ done: @escaping @Sendable ([DeliveryTag]) -> Void) async {
        let tags = intake.tags
        let all = Array(tags.indices)
        let asides = Array(intake.laterIndices.union(intake.withheld.map(\.index)))
        let parts = OpenParts(
            messages: all.count,
            parts: all + asides + Parcel.indices(of: intake.parcels + intake.badges)
                + intake.casualties.map(\.index)
        )
        let opening = Mutex<Set<Int>?>(intake.unfinished)
        // Whatever ends first takes those along of which nothing was left to do: one acknowledgement for all of them costs
        // the broker as much as one for each of those that stand alone.
        let close: @Sendable ([Int], Set<Int>) -> Void = { indices, unfinished in
            let opened = opening.withLock { opening in
                defer { opening = nil }
                return opening
            }
            let ended = parts.close(indices + (opened == nil ? [] : all), unfinished: unfinished.union(opened ?? []))
            if !ended.isEmpty { done(ended.map { tags[$0] }) }
        }
        bury(intake.casualties, intake.run, close)
        async let sending: Void = courier.deliver(intake.parcels, intake.run, close)
        async let badges: Void = courier.tell(intake.badges, intake.run) { close($0, []) }
        var unfinished = await courier.settle(intake.withheld, intake.run)
        if !(await courier.resumeLater(intake.later, intake.run)) { unfinished.formUnion(intake.laterIndices) }
        guard asides.isEmpty, !intake.parcels.isEmpty else {
            close(asides, unfinished)
            return await (sending, badges).0
        }
        let patience = Task {
            try? await Task.sleep(for: Self.patience)
            close([], [])
        }
        _ = await (sending, badges)
        patience.cancel()
        close([], [])
    }

    /// How long what is done waits for the first push of its batch: not as long as a slow provider takes.
    private static let patience = Duration.milliseconds(50)

    private func resume(
        _ owed: [SortedBatch.Entry<NotificationKey>],
        _ heirs: Set<Int>,
        _ decider: Decider,
        _ persistence: Persistence,
        into intake: inout Intake
    ) async {
        guard !owed.isEmpty else { return }
        let work = await resumption.take(
            owed,
            heirs: heirs,
            claim: intake.run.claim,
            decider: decider,
            persistence: persistence
        )
        guard let work else { return intake.unfinished.formUnion(owed.map(\.index)) }
        intake.parcels += work.parcels
        intake.footprint += work.footprint
        intake.withheld = work.withheld
        intake.later = work.later
        let later = Set(work.later.values.joined())
        intake.laterIndices = Set(owed.filter { later.contains($0.work) }.map(\.index))
    }

    private func tell(
        _ entries: [SortedBatch.Entry<RecipientKey>],
        _ decider: Decider,
        _ persistence: Persistence,
        into intake: inout Intake
    ) async {
        guard !entries.isEmpty else { return }
        let keys = Set(entries.map(\.work))
        let recipients = await persistence.insist { [directory] () throws(PostgresError) in
            try await directory.recipients(of: keys)
        }
        guard let recipients else { return intake.unfinished.formUnion(entries.map(\.index)) }
        intake.badges = entries.flatMap { entry in
            recipients[entry.work].map { decider.badgeUpdates(for: entry.work, $0, index: entry.index) } ?? []
        }
    }

    /// Tells the desk which replayed messages are taken in for good; returns those of which it could not.
    ///
    /// What is at fault its next dead letter tells of.
    private func report(
        _ sorted: SortedBatch,
        _ recorded: Recorder.Recorded,
        _ faults: [SortedBatch.Entry<DeadLetterCause>],
        _ unfinished: Set<Int>,
        _ persistence: Persistence
    ) async -> Set<Int> {
        guard !sorted.replayed.isEmpty else { return [] }
        let open = Set((sorted.faults + faults).map(\.index)).union(unfinished)
        let settled = sorted.replayed.filter { !open.contains($0.key) }
        let reports = settled.map { index, replay in
            ReplayReportBook.Report(
                replay.mark,
                recorded.hasOnlyDuplicates(of: index, in: sorted) ? .alreadyRecorded : .recorded
            )
        }
        let told: Void? = await persistence.insist { [desk = self.reports] () throws(PostgresError) in
            try await desk.settle(reports)
        }
        return told == nil ? Set(settled.keys) : []
    }

    private static func casualties(
        _ faults: [SortedBatch.Entry<DeadLetterCause>],
        of messages: [IncomingMessage],
        _ sorted: SortedBatch
    ) -> [SortedBatch.Entry<Casualty>] {
        faults.map { entry in
            let replay = sorted.replayed[entry.index]
            return .init(index: entry.index, work: .message(messages[entry.index], entry.work, replay: replay))
        }
    }

    /// Leaves aside what is at fault until the broker has confirmed it: a dead-letter queue that takes nothing holds up
    /// neither the pushes of the good ones nor the next batch.
    private func bury(
        _ casualties: [SortedBatch.Entry<Casualty>],
        _ run: Courier.Run,
        _ close: @escaping Courier.Settled
    ) {
        guard !casualties.isEmpty else { return }
        let letters = casualties.map(\.work)
        let indices = casualties.map(\.index)
        run.shift.asides.add(weighing: Casualty.weight(of: letters)) { [deadLetters] in
            await deadLetters.bury(letters, until: run.drain) { positions, areBuried in
                let ended = positions.map { indices[$0] }
                close(ended, areBuried ? [] : Set(ended))
            }
        }
    }
}
