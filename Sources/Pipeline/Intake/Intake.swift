import AMQP
import BellhopRules
import ServiceRuntime
package import Settings
import Store
import Tracing

/// Processes batches of messages.
///
/// Each message is recorded, stored, claimed and sent, or dead-lettered with a reason.
///
/// If an obstacle concerns all messages, such as an unavailable database or a broker without confirms, the batch waits
/// and its messages stay unacknowledged. Only a drain returns them.
///
/// It is an object because the concurrent steps of each batch capture it.
package final class Intake: Sendable {
    let catalogs: CatalogSource
    let zones: ZoneLibrary
    let worker: WorkerContext
    let context: PipelineContext
    private let recorder: Recorder
    private let feedsAndPlans: FeedAndPlanRecorder
    let resumption: ResumeStage
    let dispatcher: Dispatcher
    let settler: Settler
    let pageGates: PageConcurrencyLimiter
    let rehearsal: Rehearsal
    /// Logs summaries of the intake; a service that runs alongside the lanes.
    package let report: IntakeReport

    /// Creates the intake.
    ///
    /// Each batch uses the catalogues that are active when it begins; `zones` provides the users' local times.
    package init(catalogs: CatalogSource, zones: ZoneLibrary, worker: WorkerContext, context: PipelineContext) {
        self.catalogs = catalogs
        self.zones = zones
        self.worker = worker
        self.context = context
        recorder = Recorder(store: worker.store, context: context)
        feedsAndPlans = FeedAndPlanRecorder(
            store: worker.store,
            metrics: context.metrics.records,
            inboxChanges: context.inboxChanges
        )
        resumption = ResumeStage(
            store: worker.store,
            ladder: worker.policy.ladder,
            time: context.time,
            holds: worker.outlets.holds
        )
        dispatcher = worker.dispatcher(context)
        settler = worker.settler(context)
        pageGates = PageConcurrencyLimiter(time: context.time)
        rehearsal = Rehearsal(store: worker.store, context: context)
        report = IntakeReport(logger: context.logger, deadLettered: context.deadLettered) {
            [outlets = worker.outlets] in outlets.accepted
        }
    }

    /// The operators' holds.
    var holds: ActiveHolds { worker.outlets.holds }

    /// Runs the first half: stores everything that must be in the database.
    func store(_ messages: [IncomingMessage], _ batchContext: Batch.Context) async -> StoredBatch {
        let started = context.time.now()
        pageGates.noteMessages(of: batchContext.lane)
        let batch = Batch(messages, batchContext, context)
        let decider = decider(at: batch.now)
        let parsed = ParsedBatch(messages, catalogs: decider.catalogs, names: worker.names, arrival: batch.now)
        async let kept = feedsAndPlans.keep(parsed.plans, cancelling: parsed.cancellations, batch)
        // Feed messages that precede an event in the same batch apply to it.
        let fed = await feedsAndPlans.feed(parsed.feeds, batch)
        var work = PendingWork()
        // A slow count of unread notifications must not use up the lease of deliveries.
        work.badges = await badges(parsed.badges, decider, batch)
        let recorded = await record(parsed.records, decider, batch)
        work.shipments = recorded.shipments
        work.footprint = parsed.footprint
        let parts = ResumeStage.parts(of: parsed.resumed + recorded.duplicates)
        work += await resumption.take(parts.first ?? [], parsed.replacements, decider, batch)
        work += await decideAnew(recorded.late, decider, batch)
        work.rest = PendingWork.Rest(
            parts: Array(parts.dropFirst()),
            replacements: parsed.replacements,
            decider: decider
        )
        var plans = await kept
        work.opened = await feedsAndPlans.open(&plans, batch)
        let faults = parsed.faults + fed + recorded.faults + plans.faults
        work.deadLetters = faults.map { fault in
            let (index, replay) = (fault.index, parsed.replays[fault.index])
            return Entry(index: index, work: .message(messages[index], fault.work, replay: replay))
        }
        await report(parsed, recorded, faults, batch)
        let stored = StoredBatch(batch: batch, work: work, pages: parsed.pages)
        batch.messages.open(work.positions + stored.pages.map(\.index))
        account(parsed, stored, took: context.time.now() - started)
        trace(parsed, of: messages, batch, since: started)
        return stored
    }

    /// Runs the second half, except the pages of fan-outs, which are processed separately.
    ///
    /// Each message is acknowledged as soon as all of it is settled, so that a message for a slow provider does not
    /// delay the others of its batch. Messages that wait for the confirm of a dead letter may be completed after this
    /// has returned.
    func deliver(_ stored: StoredBatch) async {
        let hasIdle = stored.batch.messages.stored()
        // This ends with the batch at the latest, because the end of the scope cancels the remaining wait.
        async let _: Void = hasIdle ? acknowledgeIdle(stored) : ()
        await deliver(stored.work, stored.batch)
    }

    /// Dead-letters invalid messages, sends claimed deliveries and settles their outcomes, with a part of its message
    /// open for each.
    func deliver(_ work: PendingWork, _ batch: Batch) async {
        await batch.detached.carrying(work.weight) {
            settler.deadLetter(work.deadLetters, batch)
            async let resumed: Void = resume(work.rest, batch)
            async let opened: Void = hand(over: work.opened, batch)
            async let told: Void = dispatcher.send(work.badges, lane: batch.lane) { [settler] dispositions in
                await settler.revoke(dispositions.compactMap(\.deadDevice), batch)
                batch.messages.close(dispositions.map(\.index))
            }
            async let sent: Void = dispatcher.send(work.shipments, lane: batch.lane, on: work.trace) {
                [settler] dispositions in await settler.settle(dispositions, batch)
            }
            await settler.settle(work.withheld, batch)
            await settler.resumeLater(work.later, closing: work.waiting, batch)
            _ = await (resumed, opened, told, sent)
        }
    }

    /// Processes the notifications that exceeded one statement, part by part, each from its claim to its settlement.
    private func resume(_ rest: PendingWork.Rest?, _ batch: Batch) async {
        guard let rest else { return }
        for part in rest.parts {
            let batch = rest.keepsClaim ? batch : batch.part(claiming: context.newClaim())
            await context.clocks?.hold(until: batch.drain)
            guard !batch.drain.isDraining else {
                batch.messages.giveUp(part.map(\.index))
                continue
            }
            let work = await resumption.take(part, rest.replacements, rest.decider, batch)
            batch.messages.open(work.positions)
            await deliver(work, batch)
            batch.messages.close(part.map(\.index))
        }
    }

    /// Returns a decider with the active catalogues.
    func decider(at now: Timestamp) -> Decider {
        Decider(catalogs: catalogs.current, outlets: worker.outlets.keys, zones: zones, now: now)
    }

    // MARK: - The steps

    /// Looks up, decides and records notifications, as many at a time as a statement may contain.
    ///
    /// Users in `known` need no look-up.
    func record(
        _ entries: [Entry<InboxRecord>],
        knowing known: [UserKey: Recipient]? = nil,
        _ decider: Decider,
        _ batch: Batch
    ) async -> Recorder.Recorded {
        var recorded = Recorder.Recorded()
        for range in Recorder.statements(for: entries.map(\.work.words.bytes)) {
            let all = entries[range]
            let counted = all.compactMap { entry in
                let record = entry.work
                return record.words.type.setsBadge ? record.key.recipient : nil
            }
            let readers = all.map { Entry(index: $0.index, work: $0.work.key.recipient) }
            let found = await batch.timed(.lookUp) {
                await lookUp(readers, knowing: known, counting: counted, batch)
            }
            guard let (people, unanswered) = found else { continue }
            var part = unanswered.isEmpty ? all : all.filter { !unanswered.contains($0.work.key.recipient) }[...]
            guard let recent = await recentPushes(of: &part, by: people, decider, batch) else { continue }
            let decider = decider.at(context.time.timestamp)
            let decisions = decider.decide(part, for: people, after: recent)
            for (app, reason) in decisions.nowhere { context.metrics.records.countUnrecorded(app, reason) }
            await batch.timed(.record) { await recorder.record(decisions.decided, decider, batch, into: &recorded) }
        }
        // A copy within this batch needs no processing: the deliveries of the original are under the same claim.
        if !recorded.duplicates.isEmpty {
            let taken = Set(recorded.shipments.map(\.key.notification) + recorded.late.map(\.work))
            recorded.duplicates.removeAll { taken.contains($0.work) }
        }
        return recorded
    }

    /// Decides notifications again that this batch recorded and claimed too long after their decision.
    ///
    /// It keeps the claim and processes as many at a time as a statement may contain.
    func decideAnew(
        _ late: [Entry<NotificationKey>],
        each: Int = ResumeStage.keysPerPart,
        _ decider: Decider,
        _ batch: Batch
    ) async -> PendingWork {
        var work = PendingWork()
        for part in ResumeStage.parts(of: late, each: each) { work += await resumption.take(part, [], decider, batch) }
        return work
    }

    /// Looks up users.
    ///
    /// It also returns the users who fail individually in the database; their messages are given up.
    ///
    /// - Returns: `nil` if a drain came first; all messages are given up then.
    private func lookUp(
        _ entries: [Entry<UserKey>],
        knowing known: [UserKey: Recipient]? = nil,
        counting counted: [UserKey],
        _ batch: Batch
    ) async -> (people: [UserKey: Recipient], unanswered: Set<UserKey>)? {
        var (people, unanswered): ([UserKey: Recipient], Set<UserKey>) = (known ?? [:], [])
        if known == nil {
            let found = await batch.lookUp(
                Array(Set(entries.map(\.work))),
                for: { keys in
                    let keys = Set(keys)
                    return entries.filter { keys.contains($0.work) }.map(\.index)
                },
                { [store = worker.store] keys throws(StoreError) in try await store.recipients(of: keys) }
            )
            guard let found else { return nil }
            people = found.values.count == 1 ? found.values[0] : found.values.reduce(into: [:]) { $0.merge($1) { $1 } }
            unanswered = Set(found.unanswered)
        }
        // The counted users are a subset, so equal numbers mean equal sets.
        let counted = counted.count == entries.count ? nil : Set(counted)
        let unread = UnreadLookUp(store: worker.store, catalogs: catalogs.current)
        await unread.add(to: &people, of: counted, batch)
        return (people, unanswered)
    }

    /// Reads recent pushes, and removes entries that fail individually in the database from `part`.
    private func recentPushes(
        of part: inout ArraySlice<Entry<InboxRecord>>,
        by people: [UserKey: Recipient],
        _ decider: Decider,
        _ batch: Batch
    ) async -> RecentPushes? {
        let catalogs = decider.catalogs
        guard RecentPushes.areAsked(by: catalogs) else { return RecentPushes() }
        let places = Array(part.indices)
        let entries = part
        let found = await batch.lookUp(places, for: { $0.map { entries[$0].index } }) {
            [store = worker.store] places throws(StoreError) in
            try await RecentPushes(of: places.map { entries[$0] }, by: people, catalogs, store)
        }
        guard let found else { return nil }
        if !found.unanswered.isEmpty {
            let unanswered = Set(found.unanswered)
            part = places.filter { !unanswered.contains($0) }.map { entries[$0] }[...]
        }
        return found.values.reduce(into: RecentPushes()) { $0 += $1 }
    }

    /// Returns the badge updates of users.
    ///
    /// Users who fail individually in the database get none: a message that is given up for them would repeat those of
    /// the others. Their next change corrects the number.
    private func badges(_ entries: [Entry<UserKey>], _ decider: Decider, _ batch: Batch) async -> [OutgoingDelivery] {
        guard !entries.isEmpty else { return [] }
        let found = await batch.persistence.ask(Array(Set(entries.map(\.work)))) {
            [store = worker.store] keys throws(StoreError) in try await store.recipients(of: keys)
        }
        guard let found else {
            batch.messages.giveUp(entries.map(\.index))
            return []
        }
        if let (_, why) = found.unanswered.first {
            context.logger.warning(
                "the database fails on users alone, leaving out their badge updates",
                ["users": .integer(found.unanswered.count), "error": .text(why)]
            )
        }
        var people = found.values.reduce(into: [:]) { $0.merge($1) { $1 } }
        let unread = UnreadLookUp(store: worker.store, catalogs: catalogs.current)
        await unread.add(to: &people, of: nil, on: Decider.silentPlatforms, dividing: true, batch)
        return entries.flatMap { entry in
            people[entry.work].map { decider.badgeUpdates(for: entry.work, $0, index: entry.index) } ?? []
        }
    }

    /// Acknowledges completed messages after a short wait for the first push of the batch, so that one acknowledgement
    /// serves both.
    private func acknowledgeIdle(_ stored: StoredBatch) async {
        if !stored.work.shipments.isEmpty { try? await context.time.sleep(for: Self.patience) }
        stored.batch.messages.acknowledgeIdle()
    }

    /// Shorter than the response time of a slow provider.
    private static let patience = Duration.milliseconds(50)
}
