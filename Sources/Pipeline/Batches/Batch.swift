import AMQP
import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// What all stages of one batch share.
struct Batch: Sendable {
    /// Where its resumes go.
    var lane: Lane
    private(set) var claim: Claim
    let messages: OpenMessages
    let persistence: Persistence
    let asides: Asides
    /// When it was taken.
    let now: Timestamp
    /// When its steps were taken; nil where nobody traces them.
    private(set) var steps: StepLog?

    /// What all batches of a lane work under.
    struct Shift: Sendable {
        let lane: Lane
        let drain: DrainSignal
        let asides: Asides
        /// Tells the broker that messages are done with.
        let acknowledge: @Sendable ([DeliveryTag]) -> Void
        /// Takes the messages that a batch has given up, though no drain has begun.
        var giveBack: @Sendable ([OpenMessages.GivenUp]) -> Void = { _ in }
    }

    init(_ messages: [IncomingMessage], _ shift: Shift, _ context: PipelineContext) {
        lane = shift.lane
        claim = context.newClaim()
        self.messages = OpenMessages(
            messages.map(\.tag),
            of: messages,
            acknowledge: shift.acknowledge,
            giveBack: { [drain = shift.drain, giveBack = shift.giveBack] in if !drain.isDraining { giveBack($0) } }
        )
        persistence = Persistence(drain: shift.drain, context: context)
        asides = shift.asides
        now = context.time.timestamp
        steps = context.tracer.map { StepLog($0.time) }
    }

    /// For what was pulled from a backlog: no message is behind it.
    init(carrying claim: Claim, lane: Lane, _ drain: DrainSignal, _ asides: Asides, _ context: PipelineContext) {
        self.lane = lane
        self.claim = claim
        messages = OpenMessages([], acknowledge: { _ in })
        persistence = Persistence(drain: drain, context: context)
        self.asides = asides
        now = context.time.timestamp
    }

    var drain: DrainSignal { persistence.drain }

    /// The same messages under a claim of its own: what one part has claimed no other part takes for its own.
    func part(claiming claim: Claim) -> Batch {
        var part = self
        part.claim = claim
        part.steps = steps.map { StepLog($0.time) }
        return part
    }
}

/// A piece of work, and the position in its batch of the message that it came of.
struct Entry<Work: Sendable>: Sendable {
    let index: Int
    let work: Work
}

/// The results of entries that were to be written.
///
/// The messages of those that a drain prevented, or that the database fails on alone, are given up.
struct Stored<Work: Sendable, Outcome: Sendable>: Sendable {
    var written: [(entry: Entry<Work>, outcome: Outcome)] = []
    /// The database will never take these, each for the reason in words.
    var refused: [(entry: Entry<Work>, why: String)] = []
}

extension Batch {
    /// Writes entries, and sorts them by what became of them.
    func store<Work: Sendable, Outcome: Sendable>(
        _ entries: [Entry<Work>],
        _ write: @Sendable ([Work]) async throws(PostgresError) -> [Outcome]
    ) async -> Stored<Work, Outcome> {
        var stored = Stored<Work, Outcome>()
        let results = await persistence.write(entries.map(\.work), write)
        stored.written.reserveCapacity(entries.count)
        for (entry, result) in zip(entries, results) {
            switch result {
            case .written(let outcome): stored.written.append((entry, outcome))
            case .refused(let why): stored.refused.append((entry, why))
            case .stuck(let why): messages.giveUp([entry.index], because: why)
            case .abandoned: messages.giveUp([entry.index])
            }
        }
        return stored
    }

    /// Looks items up; the messages of those that the database fails on alone are given up, and so are all if a drain comes
    /// first.
    ///
    /// `positions` gives the positions of the messages that need an item.
    ///
    /// - Returns: The answers, part by part, and the items without one; `nil` if a drain came first.
    func lookUp<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        for positions: ([Item]) -> [Int],
        _ work: @Sendable ([Item]) async throws(PostgresError) -> Value
    ) async -> (values: [Value], unanswered: [Item])? {
        guard let answers = await persistence.ask(items, work) else {
            messages.giveUp(positions(items))
            return nil
        }
        for (item, why) in answers.unanswered { messages.giveUp(positions([item]), because: why) }
        return (answers.values, answers.unanswered.map(\.item))
    }
}
