import AMQP
import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// Settles deliveries in the ledger, and sees to what follows: retries, dead letters, dead devices.
struct Settler: Sendable {
    let store: any PipelineStore
    let resumes: ResumeSender
    let deadLetters: DeadLetterQueue
    let backlogs: Backlogs
    let context: PipelineContext

    /// How long a settlement may take once its task was cancelled: less than the process is given then.
    static let farewell = Duration.seconds(4)

    /// Settles what is not lost, and leaves aside what is until its dead letter is confirmed: that may take as long as the
    /// broker likes, and the others' claims end.
    ///
    /// Closes a part of its message for each; what is left aside is closed after this has returned. A cancellation ends the
    /// requests under way at the end of a drain; what they have come to is settled all the same.
    func settle(_ dispositions: [Disposition], _ batch: Batch) async {
        await Task.outlastingCancellation(for: Self.farewell) { await settleAll(dispositions, batch) }
    }

    private func settleAll(_ dispositions: [Disposition], _ batch: Batch) async {
        context.metrics.deliveries.repeats.increment(by: dispositions.count(where: \.isRepeat))
        let kept = dispositions.filter { $0.loss == nil }
        if kept.count < dispositions.count { bury(dispositions.filter { $0.loss != nil }, batch) }
        for part in Self.parts(of: kept) { await settleKept(Array(part), batch) }
    }

    /// Leaves messages that are at fault aside until the broker has confirmed their dead letters: a queue that takes nothing
    /// holds up neither the pushes of the good ones nor the next batch.
    func bury(_ undeliverables: [Entry<Undeliverable>], _ batch: Batch) {
        guard !undeliverables.isEmpty else { return }
        let letters = undeliverables.map(\.work)
        batch.asides.add(weighing: Undeliverable.weight(of: letters)) {
            await deadLetters.bury(letters, until: batch.drain) { positions, areBuried in
                let ended = positions.map { undeliverables[$0].index }
                if areBuried { batch.messages.close(ended) } else { batch.messages.giveUp(ended) }
            }
        }
    }

    /// Publishes resumes for what is in the hands of another, and closes the parts that waited for that.
    func resumeLater(_ keys: [ResumeSender.Way: [NotificationKey]], closing positions: [Int], _ batch: Batch) async {
        guard !positions.isEmpty else { return }
        let unnamed = await bringBack(keys, batch)
        if unnamed.isEmpty { batch.messages.close(positions) } else { batch.messages.giveUp(positions) }
    }

    /// Publishes pages of fan-outs, through a tier where one is given; what the broker does not confirm soon the scheduler
    /// publishes.
    ///
    /// - Returns: whether all of them will come; `false` if a drain came first, or if the database fails on one alone.
    func send(pages: [FanoutPage], after tier: RetryTier? = nil, _ batch: Batch) async -> Bool {
        let unconfirmed = await resumes.send(
            pages: pages,
            after: tier,
            until: batch.drain,
            within: ResumeSender.patience
        )
        guard !unconfirmed.isEmpty else { return true }
        let left = await batch.persistence.ask(unconfirmed) { [store] pages throws(PostgresError) in
            try await store.giveBack(pages)
        }
        return left?.unanswered.isEmpty ?? false
    }

    /// Sees to it that what is owed of these notifications comes back: by their resumes, or by the sweeper where the broker
    /// does not confirm those soon.
    ///
    /// The sweeper finds a line by its due time, whatever becomes of a message; so nothing in hand has to wait for the end
    /// of the broker's alarm. A first attempt that a statement of another has locked gets its due time when it is free.
    ///
    /// - Returns: those for which a drain came first, or on which the database fails alone.
    private func bringBack(
        _ keys: [ResumeSender.Way: [NotificationKey]],
        _ batch: Batch
    ) async -> Set<NotificationKey> {
        var open = keys.filter { !$0.value.isEmpty }
        var failed: Set<NotificationKey> = []
        var pauses = Pauses(drain: batch.drain, time: context.time, chance: context.chance)
        while !open.isEmpty {
            let unconfirmed = await resumes.send(open, lane: batch.lane, until: batch.drain)
            guard !unconfirmed.isEmpty else { break }
            let left = await batch.persistence.ask(Array(unconfirmed)) { [store] keys throws(PostgresError) in
                try await store.leaveToSweeper(keys)
            }
            guard let left else { return failed.union(unconfirmed) }
            failed.formUnion(left.unanswered.map(\.item))
            let locked = Set(left.values.joined())
            guard !locked.isEmpty else { break }
            guard await pauses.pause() else { return failed.union(locked) }
            open = open.mapValues { $0.filter(locked.contains) }.filter { !$0.value.isEmpty }
        }
        return failed
    }

    /// A device that cannot be revoked now is called dead again by the next message to it.
    func revoke(_ dead: [DeadDevice], _ batch: Batch) async {
        guard !dead.isEmpty else { return }
        let revoked = await batch.persistence.ask(dead) { [store] dead throws(PostgresError) in
            try await store.revoke(dead)
        }
        context.metrics.deliveries.revocations.increment(by: revoked?.values.reduce(0, +) ?? 0)
    }

    /// In the order that no crash can break: what is to be tried again is in the ledger before its resume is published.
    ///
    /// While the broker accepts nothing, the ledger alone holds a retry, and no message waits.
    private func settleKept(_ kept: [Disposition], _ batch: Batch) async {
        let settled = await write(resumes.publisher.isBlocked ? kept.map(\.waitingInLedger) : kept, batch)
        backlogs.note(settled.compactMap(\.settlement.backlog))
        context.metrics.deliveries.count(settled.lazy.map { ($0.settlement, $0.tier) })
        await revoke(settled.compactMap(\.deadDevice), batch)
        await note(settled.compactMap(\.reachedDevice))
        let unnamed = await bringBack(Self.resumes(of: settled), batch)
        if !unnamed.isEmpty {
            let open = settled.filter { unnamed.contains($0.settlement.key.notification) }
            batch.messages.giveUp(open.map(\.index))
        }
        batch.messages.close(settled.map(\.index))
    }

    /// In the order that no crash can break: what is given up is dead-lettered before the ledger says so.
    private func bury(_ lost: [Disposition], _ batch: Batch) {
        let undeliverables = lost.compactMap { disposition in disposition.loss.map(Undeliverable.delivery) }
        batch.asides.add(weighing: Undeliverable.weight(of: undeliverables)) {
            await deadLetters.bury(undeliverables, until: batch.drain) { positions, areBuried in
                let ended = positions.map { lost[$0] }
                guard areBuried else { return batch.messages.giveUp(ended.map(\.index)) }
                await settleKept(ended, batch)
            }
        }
    }

    /// Writes what the database takes; the messages of the rest are given up.
    ///
    /// - Returns: What is written.
    private func write(_ settled: [Disposition], _ batch: Batch) async -> [Disposition] {
        let written = await batch.persistence.write(settled) { [store] settled throws(PostgresError) in
            let count = try await store.settle(settled.map(\.settlement), of: batch.claim)
            // Which of them another has taken over, the server does not say.
            return settled.indices.map { $0 < settled.count - count }
        }
        var done: [Disposition] = []
        done.reserveCapacity(settled.count)
        var missing = 0
        for (disposition, result) in zip(settled, written) {
            switch result {
            case .written(let isMissing):
                done.append(disposition)
                missing += isMissing ? 1 : 0
            case .refused(let why), .stuck(let why): batch.messages.giveUp([disposition.index], because: why)
            case .abandoned: batch.messages.giveUp([disposition.index])
            }
        }
        if missing > 0 { context.metrics.deliveries.lostClaims.increment(by: missing) }
        return done
    }

    /// One statement for each batch with devices that were never reached before, and none once all were.
    ///
    /// What cannot be noted now is noted by the next push to it.
    private func note(_ devices: [ReachedDevice]) async {
        guard !devices.isEmpty else { return }
        do throws(PostgresError) {
            _ = try await store.note(devices)
        } catch {
            context.logger.warning("cannot store reached devices", ["error": .error(error)])
        }
    }

    /// Which settlements go into one statement: so many at most, and what waits in a backlog as one, such as a digest, in the
    /// same, lest half of it be pulled before the rest is there.
    static func parts(of dispositions: [Disposition]) -> [ArraySlice<Disposition>] {
        var parts: [ArraySlice<Disposition>] = []
        var rest = dispositions[...]
        while rest.count > linesPerStatement {
            var end = rest.startIndex + linesPerStatement
            while end < rest.endIndex, rest[end].waitsBeside(rest[end - 1]) { end += 1 }
            parts.append(rest[..<end])
            rest = rest[end...]
        }
        return rest.isEmpty ? parts : parts + [rest]
    }

    private static let linesPerStatement = 1024

    private static func resumes(of settled: [Disposition]) -> [ResumeSender.Way: [NotificationKey]] {
        var keys: [ResumeSender.Way: Set<NotificationKey>] = [:]
        for disposition in settled {
            guard let tier = disposition.tier else { continue }
            keys[.after(tier), default: []].insert(disposition.settlement.key.notification)
        }
        return keys.mapValues(Array.init)
    }
}

extension Disposition {
    /// The same without a resume: the sweeper brings it when its wait is over.
    fileprivate var waitingInLedger: Disposition {
        guard tier != nil else { return self }
        var disposition = self
        disposition.settlement.state = .deferred
        disposition.tier = nil
        return disposition
    }

    /// Whether both wait at the same turn for the same device.
    fileprivate func waitsBeside(_ other: Disposition) -> Bool {
        guard let backlog = settlement.backlog, backlog == other.settlement.backlog else { return false }
        return backlog.queuedAt != nil && settlement.key.target == other.settlement.key.target
            && settlement.key.notification.recipient == other.settlement.key.notification.recipient
    }
}
