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
        resumes = ResumeSender(publisher: tools.publisher, names: tools.names, logger: surroundings.logger)
        deadLetters = DeadLetterQueue(
            publisher: tools.publisher,
            exchange: tools.names.dead,
            surroundings: surroundings
        )
        self.surroundings = surroundings
    }

    /// What one batch works under.
    struct Run: Sendable {
        let claim: Claim
        let lane: Lane
        let drain: DrainSignal
    }

    /// Sends the parcels and settles them part by part, as their providers answer.
    ///
    /// Calls `settled` for each part with the positions of its parcels' messages, and with those among them that must not
    /// be acknowledged, since something of theirs is unsettled.
    func deliver(
        _ parcels: [Parcel],
        _ run: Run,
        _ settled: @escaping @Sendable (_ indices: [Int], _ unfinished: Set<Int>) -> Void
    ) async {
        let sentAt = Timestamp(clamping: surroundings.time.now().microseconds)
        await dispatcher.send(parcels, lane: run.lane) { part in
            let repeats = part.count { parcels[$0.position].isRepeat && $0.arrival.isStarted }
            surroundings.metrics.countRepeats(repeats)
            let outcomes = DeliveryOutcome.all(part, of: parcels, policy, sentAt)
            settled(outcomes.map(\.index), await settle(outcomes, run))
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

    /// In the order that no crash can break: what is given up is dead-lettered before the ledger says so, what is to be
    /// tried again is in the ledger before its resume is published.
    ///
    /// - Returns: the positions of the messages that must not be acknowledged, since something of theirs is unsettled.
    func settle(_ outcomes: [DeliveryOutcome], _ run: Run) async -> Set<Int> {
        guard !outcomes.isEmpty else { return [] }
        var unfinished = await bury(outcomes, run)
        let settled = outcomes.filter { !unfinished.contains($0.index) }
        guard await write(settled, run) else { return unfinished.union(settled.map(\.index)) }
        surroundings.metrics.count(settled)
        await revoke(settled.compactMap(\.deadDevice), run)
        let unpublished = await resumes.send(Self.resumes(of: settled), lane: run.lane, until: run.drain)
        for outcome in settled where unpublished.contains(outcome.settlement.key.notification) {
            unfinished.insert(outcome.index)
        }
        return unfinished
    }

    /// Publishes resumes for what is in the hands of another; whether all of them are confirmed.
    func resumeLater(_ keys: [ResumeSender.Way: [NotificationKey]], _ run: Run) async -> Bool {
        await resumes.send(keys, lane: run.lane, until: run.drain).isEmpty
    }

    private func bury(_ outcomes: [DeliveryOutcome], _ run: Run) async -> Set<Int> {
        let lost = outcomes.compactMap { outcome in outcome.loss.map { (outcome.index, $0) } }
        guard !lost.isEmpty else { return [] }
        let buried = await deadLetters.bury(lost.map { .delivery($0.1) }, until: run.drain)
        return Set(zip(lost, buried).filter { !$1 }.map(\.0.0))
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

    private static func resumes(of outcomes: [DeliveryOutcome]) -> [ResumeSender.Way: [NotificationKey]] {
        var keys: [ResumeSender.Way: Set<NotificationKey>] = [:]
        for outcome in outcomes {
            guard let tier = outcome.tier else { continue }
            keys[.after(tier), default: []].insert(outcome.settlement.key.notification)
        }
        return keys.mapValues(Array.init)
    }
}
