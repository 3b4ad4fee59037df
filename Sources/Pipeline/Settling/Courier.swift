import AMQP
import BellhopRules
import Push
import Postgres
import ServiceRuntime
import Store

/// Sends what was claimed, settles it in the ledger, and sees to what follows: retries, dead letters, dead devices.
struct Courier: Sendable {
    let dispatcher: Dispatcher
    let policy: DeliveryPolicy
    let ledger: Ledger
    let revocations: Revocations
    let reachedDevices: ReachedDevices
    let resumes: ResumeSender
    let deadLetters: DeadLetterQueue
    let surroundings: FrontDoor.Surroundings

    init(tools: FrontDoor.Tools, surroundings: FrontDoor.Surroundings) {
        dispatcher = Dispatcher(
            senders: tools.senders,
            breakers: tools.breakers,
            budgets: BudgetMeter(book: BudgetBook(pool: tools.pool), logger: surroundings.logger),
            beginsWithin: tools.policy.beginsWithin
        )
        policy = tools.policy
        ledger = Ledger(pool: tools.pool, lease: tools.policy.lease)
        revocations = Revocations(pool: tools.pool)
        reachedDevices = ReachedDevices(pool: tools.pool)
        resumes = ResumeSender(publisher: tools.publisher, names: tools.names, logger: surroundings.logger)
        deadLetters = DeadLetterQueue(
            publisher: tools.publisher,
            exchange: tools.names.dead,
            surroundings: surroundings
        )
        self.surroundings = surroundings
    }

    /// What all batches of a lane work under.
    struct Shift: Sendable {
        let lane: Lane
        let drain: DrainSignal
        let asides: Asides
    }

    /// What one batch works under.
    struct Run: Sendable {
        let claim: Claim
        let shift: Shift

        var lane: Lane { shift.lane }
        var drain: DrainSignal { shift.drain }
    }

    /// Told of outcomes that have come to their end: the positions of their messages, and those among them that must not
    /// be acknowledged, since something of theirs is unsettled.
    typealias Settled = @Sendable (_ indices: [Int], _ unfinished: Set<Int>) -> Void

    /// Sends the parcels and settles them part by part, as their providers answer.
    ///
    /// Calls `settled` for each delivery once; what is given up may be told of after this has returned.
    func deliver(_ parcels: [Parcel], _ run: Run, _ settled: @escaping Settled) async {
        let sentAt = Timestamp(clamping: surroundings.time.now().microseconds)
        await dispatcher.send(parcels, lane: run.lane) { part in
            let repeats = part.count { parcels[$0.position].isRepeat && $0.arrival.isStarted }
            surroundings.metrics.countRepeats(repeats)
            let outcomes = DeliveryOutcome.all(part, of: parcels, policy, sentAt)
            await settle(outcomes, run, settled)
        }
    }

    /// Sends what has no line in the ledger; of the answers only dead devices matter.
    ///
    /// Calls `ended` for each part with the positions of its parcels' messages.
    func tell(_ parcels: [Parcel], _ run: Run, _ ended: @escaping @Sendable (_ indices: [Int]) -> Void) async {
        let sentAt = Timestamp(clamping: surroundings.time.now().microseconds)
        await dispatcher.send(parcels, lane: run.lane) { part in
            await revoke(part.compactMap { DeadDevice(parcels[$0.position], $0.arrival, sentAt) }, run)
            ended(part.map { parcels[$0.position].index })
        }
    }

    /// Settles what is not lost, and leaves aside what is until its dead letter is confirmed: that may take as long as the
    /// broker likes, and the others' claims end.
    func settle(_ outcomes: [DeliveryOutcome], _ run: Run, _ settled: @escaping Settled) async {
        let kept = outcomes.filter { $0.loss == nil }
        let lost = kept.count == outcomes.count ? [] : outcomes.filter { $0.loss != nil }
        if !lost.isEmpty { bury(lost, run, settled) }
        if !kept.isEmpty { settled(kept.map(\.index), await settle(kept, run)) }
    }

    /// In the order that no crash can break: what is to be tried again is in the ledger before its resume is published.
    ///
    /// - Returns: the positions of the messages that must not be acknowledged, since something of theirs is unsettled.
    func settle(_ settled: [DeliveryOutcome], _ run: Run) async -> Set<Int> {
        guard !settled.isEmpty else { return [] }
        guard await write(settled, run) else { return Set(settled.map(\.index)) }
        surroundings.metrics.count(settled)
        await revoke(settled.compactMap(\.deadDevice), run)
        await note(settled.compactMap(\.reachedDevice))
        let unpublished = await resumes.send(Self.resumes(of: settled), lane: run.lane, until: run.drain)
        return Set(settled.filter { unpublished.contains($0.settlement.key.notification) }.map(\.index))
    }

    /// Publishes resumes for what is in the hands of another; whether all of them are confirmed.
    func resumeLater(_ keys: [ResumeSender.Way: [NotificationKey]], _ run: Run) async -> Bool {
        await resumes.send(keys, lane: run.lane, until: run.drain).isEmpty
    }

    /// In the order that no crash can break: what is given up is dead-lettered before the ledger says so.
    private func bury(_ lost: [DeliveryOutcome], _ run: Run, _ settled: @escaping Settled) {
        let casualties = lost.compactMap { outcome in outcome.loss.map(Casualty.delivery) }
        run.shift.asides.add(weighing: Casualty.weight(of: casualties)) {
            await deadLetters.bury(casualties, until: run.drain) { positions, areBuried in
                let ended = positions.map { lost[$0] }
                let indices = ended.map(\.index)
                guard areBuried else { return settled(indices, Set(indices)) }
                settled(indices, await settle(ended, run))
            }
        }
    }

    private func write(_ outcomes: [DeliveryOutcome], _ run: Run) async -> Bool {
        let persistence = Persistence(drain: run.drain, surroundings: surroundings)
        let isWritten = await persistence.insist { [ledger] () throws(PostgresError) in
            let count = try await ledger.settle(outcomes.map(\.settlement), of: run.claim)
            return outcomes.count - count
        }
        guard let isWritten else { return false }
        if isWritten > 0 { surroundings.metrics.countLostClaims(isWritten) }
        return true
    }

    /// A device that cannot be revoked now is called dead again by the next message to it.
    private func revoke(_ dead: [DeadDevice], _ run: Run) async {
        guard !dead.isEmpty else { return }
        let persistence = Persistence(drain: run.drain, surroundings: surroundings)
        let revoked = await persistence.insist { [revocations] () throws(PostgresError) in
            try await revocations.revoke(dead)
        }
        surroundings.metrics.countRevocations(revoked ?? 0)
    }

    /// One statement for each batch with devices that were never reached before, and none once all were.
    ///
    /// What cannot be noted now is noted by the next push to it.
    private func note(_ devices: [ReachedDevice]) async {
        do throws(PostgresError) {
            _ = try await reachedDevices.note(devices)
        } catch {
            surroundings.logger.warning("devices that were reached cannot be noted", ["error": .error(error)])
        }
    }

    private static func resumes(of outcomes: [DeliveryOutcome]) -> [ResumeSender.Way: [NotificationKey]] {
        var keys: [ResumeSender.Way: Set<NotificationKey>] = [:]
        for outcome in outcomes {
            guard let tier = outcome.tier else { continue }
            keys[.after(tier), default: []].insert(outcome.settlement.key.notification)
        }
        return keys.mapValues(Array.init)
    }
}
