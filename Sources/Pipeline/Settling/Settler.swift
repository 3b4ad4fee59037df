import AMQP
import BellhopRules
import ServiceRuntime
import Store

/// Settles deliveries in the ledger and handles the consequences: retries, dead letters and gone devices.
struct Settler: Sendable {
    let store: any WorkerDatabase
    let resumes: ResumeSender
    let deadLetters: DeadLetterQueue
    let outlets: Outlets
    let context: PipelineContext

    /// The time that a settlement may take after its task's cancellation; shorter than the time that the process has
    /// then.
    static let farewell = Duration.seconds(4)

    /// Settles the deliveries that are not lost.
    ///
    /// It sets lost ones aside until their dead letters are confirmed, because the broker's confirmation may take any
    /// time, and the leases of the other claims would end.
    ///
    /// It closes one part of its message per delivery; parts that are set aside are closed after it has returned. At
    /// the end of a drain, a cancellation ends the requests in flight; their outcomes are still settled.
    func settle(_ dispositions: [Disposition], _ batch: Batch) async {
        await Task.outlastingCancellation(for: Self.farewell) { await settleAll(dispositions, batch) }
    }

    private func settleAll(_ dispositions: [Disposition], _ batch: Batch) async {
        context.metrics.deliveries.repeats.increment(by: dispositions.count(where: \.isRepeat))
        let lost = dispositions.filter { $0.loss != nil }
        let kept = lost.isEmpty ? dispositions : dispositions.filter { $0.loss == nil }
        if !lost.isEmpty { deadLetter(lost, batch) }
        for part in Self.parts(of: kept) { await settleKept(Array(part), batch) }
    }

    /// Sets invalid messages aside until the broker has confirmed their dead letters.
    ///
    /// A queue that accepts nothing delays neither the pushes of valid messages nor the next batch.
    func deadLetter(_ undeliverables: [Entry<DeadLetterSource>], _ batch: Batch) {
        guard !undeliverables.isEmpty else { return }
        let letters = undeliverables.map(\.work)
        batch.detached.add(weighing: DeadLetterSource.weight(of: letters)) {
            await deadLetters.publish(letters, until: batch.drain) { positions, areConfirmed in
                let ended = positions.map { undeliverables[$0].index }
                if areConfirmed { batch.messages.close(ended) } else { batch.messages.giveUp(ended) }
            }
        }
    }

    /// Publishes resumes for deliveries that another batch has claimed, and closes the parts that waited for that.
    func resumeLater(_ keys: [ResumeSender.Route: [NotificationKey]], closing positions: [Int], _ batch: Batch) async {
        guard !positions.isEmpty else { return }
        let unnamed = await bringBack(keys, batch)
        if unnamed.isEmpty { batch.messages.close(positions) } else { batch.messages.giveUp(positions) }
    }

    /// Publishes pages of fan-outs, through a tier if one is given.
    ///
    /// The scheduler publishes pages that the broker does not confirm soon.
    ///
    /// - Returns: Whether all of them will arrive; `false` if a drain came first, or if a page fails individually in
    ///   the database.
    func send(pages: [FanoutPage], after tier: RetryTier? = nil, _ batch: Batch) async -> Bool {
        let unconfirmed = await resumes.send(
            pages: pages,
            after: tier,
            until: batch.drain,
            within: ResumeSender.patience
        )
        guard !unconfirmed.isEmpty else { return true }
        let left = await batch.persistence.ask(unconfirmed) { [store] pages throws(StoreError) in
            try await store.giveBack(pages)
        }
        return left?.unanswered.isEmpty ?? false
    }

    /// Ensures that the open deliveries of these notifications continue: through their resumes, or through the sweeper
    /// if the broker does not confirm these soon.
    ///
    /// The sweeper finds a delivery by its due time, independently of any message. No claimed delivery therefore has to
    /// wait for the end of the broker's alarm. A first attempt whose row is locked by another statement gets its due
    /// time when the row is free.
    ///
    /// - Returns: The notifications for which a drain came first, or that fail individually in the database.
    private func bringBack(
        _ keys: [ResumeSender.Route: [NotificationKey]],
        _ batch: Batch
    ) async -> Set<NotificationKey> {
        var open = keys.filter { !$0.value.isEmpty }
        var failed: Set<NotificationKey> = []
        var pauses = RetryBackoff(drain: batch.drain, time: context.time, chance: context.chance)
        while !open.isEmpty {
            let unconfirmed = await resumes.send(open, lane: batch.lane, until: batch.drain)
            guard !unconfirmed.isEmpty else { break }
            let left = await batch.persistence.ask(Array(unconfirmed)) { [store] keys throws(StoreError) in
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

    /// Revokes gone devices.
    ///
    /// If a device cannot be revoked now, the answer to the next message to it revokes it.
    func revoke(_ dead: [DeadDevice], _ batch: Batch) async {
        guard !dead.isEmpty else { return }
        let revoked = await batch.persistence.ask(dead) { [store] dead throws(StoreError) in
            try await store.revoke(dead)
        }
        context.metrics.deliveries.revocations.increment(by: revoked?.values.reduce(0, +) ?? 0)
    }

    /// Writes a retry to the ledger before its resume is published, so that a crash at any point loses nothing.
    ///
    /// While the broker accepts nothing, only the ledger holds a retry, and no message waits.
    ///
    /// Work that was set aside passes `isDetached`, because it may not add other work during a drain.
    private func settleKept(_ kept: [Disposition], isDetached: Bool = false, _ batch: Batch) async {
        let kept = resumes.publisher.isBlocked ? kept.map(\.waitingInLedger) : kept
        let (written, stuck) = await write(kept, batch)
        await followUp(written, batch)
        await withDiscardingTaskGroup { group in
            for (disposition, why) in stuck {
                if isDetached {
                    group.addTask { await keepTrying(disposition, because: why, batch) }
                } else {
                    batch.detached.add(weighing: Self.settlementWeight) {
                        await keepTrying(disposition, because: why, batch)
                    }
                }
            }
        }
    }

    /// Handles the consequences of written settlements, and closes their parts.
    private func followUp(_ settled: [Disposition], _ batch: Batch) async {
        guard !settled.isEmpty else { return }
        outlets.note(settled.compactMap(\.settlement.backlog))
        // A loop over the elements would copy each of them.
        context.metrics.deliveries.count(
            settled.indices.lazy.map { place in
                let app = settled[place].settlement.key.notification.recipient.app
                return (app, settled[place].settlement.state, settled[place].tier)
            }
        )
        await revoke(settled.compactMap(\.deadDevice), batch)
        await note(settled.compactMap(\.reachedDevice))
        let paused = settled.indices.filter { settled[$0].settlement.wait?.reason == .paused }
        await batch.releasePaused(of: Set(paused.map { settled[$0].settlement.key.notification.recipient }), in: store)
        let unnamed = await bringBack(Self.resumes(of: settled), batch)
        if !unnamed.isEmpty {
            let open = settled.filter { unnamed.contains($0.settlement.key.notification) }
            batch.messages.giveUp(open.map(\.index))
        }
        batch.messages.close(settled.map(\.index))
    }

    /// Publishes the dead letter before the ledger records the failure, so that a crash at any point loses nothing.
    private func deadLetter(_ lost: [Disposition], _ batch: Batch) {
        let undeliverables = lost.compactMap { disposition in disposition.loss.map(DeadLetterSource.delivery) }
        batch.detached.add(weighing: DeadLetterSource.weight(of: undeliverables)) {
            await deadLetters.publish(undeliverables, until: batch.drain) { positions, areConfirmed in
                let ended = positions.map { lost[$0] }
                guard areConfirmed else { return batch.messages.giveUp(ended.map(\.index)) }
                await settleKept(ended, isDetached: true, batch)
            }
        }
    }

    /// Writes the settlements that the database accepts.
    ///
    /// The messages of rejected ones are given up. One on which the server fails is to be tried again: its outcome is
    /// known, and the message would repeat a push that has arrived.
    ///
    /// - Returns: The written settlements, and those on which the server fails.
    private func write(
        _ settled: [Disposition],
        _ batch: Batch
    ) async -> (done: [Disposition], stuck: [(Disposition, why: String)]) {
        let written = await batch.persistence.write(settled) { [store] settled throws(StoreError) in
            let count = try await store.settle(settled.map(\.settlement), of: batch.claim)
            // The server does not report which of them another batch has claimed.
            return settled.indices.map { $0 < settled.count - count }
        }
        var (done, stuck): ([Int], [(Disposition, why: String)]) = ([], [])
        done.reserveCapacity(settled.count)
        var missing = 0
        for (place, result) in written.enumerated() {
            switch result {
            case .written(let isMissing):
                done.append(place)
                missing += isMissing ? 1 : 0
            case .stuck(let why): stuck.append((settled[place], why))
            case .refused(let why): batch.messages.giveUp([settled[place].index], because: why)
            case .abandoned: batch.messages.giveUp([settled[place].index])
            }
        }
        if missing > 0 { context.metrics.deliveries.lostClaims.increment(by: missing) }
        // Usually all are written, and the same array needs no copy of each element.
        return (done.count == settled.count ? settled : done.map { settled[$0] }, stuck)
    }

    /// Tries to write a settlement for about as long as its lease; afterwards another batch may claim the delivery.
    ///
    /// A drain does not end this, because a redelivery would repeat the push; the drain's timeout does.
    private func keepTrying(_ disposition: Disposition, because why: String, _ batch: Batch) async {
        let end = context.time.steady() + Self.perseverance
        var pauses = RetryBackoff(drain: DrainSignal(), time: context.time, chance: context.chance)
        var why = why
        while context.time.steady() < end, await pauses.pause() {
            do throws(StoreError) {
                let count = try await store.settle([disposition.settlement], of: batch.claim)
                if count == 0 { context.metrics.deliveries.lostClaims.increment() }
                return await followUp([disposition], batch)
            } catch {
                context.metrics.storeFailures.increment()
                why = error.message
            }
        }
        context.logger.error(
            "cannot store a delivery's outcome, so it may be sent again",
            ["state": .text(disposition.settlement.state.rawValue), "error": .text(why)]
        )
        batch.messages.giveUp([disposition.index], because: why)
    }

    /// The usual length of a lease.
    private static let perseverance = Duration.seconds(60)
    private static let settlementWeight = 4096

    /// Stores reached devices.
    ///
    /// It runs one statement per batch with unreached devices, and none after all were reached.
    ///
    /// A device that cannot be stored now is stored after its next push.
    private func note(_ devices: [ReachedDevice]) async {
        guard !devices.isEmpty else { return }
        do throws(StoreError) {
            _ = try await store.note(devices)
        } catch {
            context.logger.warning("cannot store reached devices", ["error": .error(error)])
        }
    }

    /// Divides settlements into statements with a bounded number of rows.
    ///
    /// Deliveries that wait in a backlog together, such as those of a digest, share a statement, so that no half of
    /// them is pulled before the other half is stored.
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

    private static func resumes(of settled: [Disposition]) -> [ResumeSender.Route: [NotificationKey]] {
        var keys: [ResumeSender.Route: Set<NotificationKey>] = [:]
        for disposition in settled {
            guard let tier = disposition.tier else { continue }
            keys[.after(tier), default: []].insert(disposition.settlement.key.notification)
        }
        return keys.mapValues(Array.init)
    }
}

extension Disposition {
    /// The same disposition without a resume; the sweeper releases the delivery when its wait is over.
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
