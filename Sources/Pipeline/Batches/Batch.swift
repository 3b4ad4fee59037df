import AMQP
import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// The common data of all stages of one batch.
struct Batch: Sendable {
    /// The lane of its resumes.
    var lane: Lane
    private(set) var claim: Claim
    let messages: OpenMessages
    let persistence: WriteRetrier
    let detached: DetachedWork
    /// The time at which the batch was taken.
    let now: Timestamp
    /// The times of its steps; `nil` if it is not traced.
    private(set) var steps: BatchTimings?

    /// The common data of all batches of a lane.
    struct Context: Sendable {
        let lane: Lane
        let drain: DrainSignal
        let detached: DetachedWork
        /// Acknowledges completed messages.
        let acknowledge: @Sendable ([DeliveryTag]) -> Void
        /// Receives the messages that a batch has given up before a drain.
        var giveBack: @Sendable ([OpenMessages.Abandoned]) -> Void = { _ in }
    }

    init(_ messages: [IncomingMessage], _ batchContext: Context, _ context: PipelineContext) {
        lane = batchContext.lane
        claim = context.newClaim()
        self.messages = OpenMessages(
            messages.map(\.tag),
            of: messages,
            acknowledge: batchContext.acknowledge,
            giveBack: { [drain = batchContext.drain, giveBack = batchContext.giveBack] in
                if !drain.isDraining { giveBack($0) }
            }
        )
        persistence = WriteRetrier(drain: batchContext.drain, context: context)
        detached = batchContext.detached
        now = context.time.timestamp
        steps = context.tracer.map { BatchTimings($0.time) }
    }

    /// Creates a batch for deliveries that were pulled from a backlog, without messages.
    init(carrying claim: Claim, lane: Lane, _ drain: DrainSignal, _ detached: DetachedWork, _ context: PipelineContext)
    {
        self.lane = lane
        self.claim = claim
        messages = OpenMessages([], acknowledge: { _ in })
        persistence = WriteRetrier(drain: drain, context: context)
        self.detached = detached
        now = context.time.timestamp
    }

    var drain: DrainSignal { persistence.drain }

    /// Returns the same messages under a separate claim, so that no part treats another part's claims as its own.
    func part(claiming claim: Claim) -> Batch {
        var part = self
        part.claim = claim
        part.steps = steps.map { BatchTimings($0.time) }
        return part
    }
}

/// A piece of work, with its message's position in the batch.
struct Entry<Work: Sendable>: Sendable {
    let index: Int
    let work: Work
}

/// The results of entries that were to be written.
///
/// If a drain prevented the write, or an entry fails individually in the database, its message is given up.
struct Stored<Work: Sendable, Outcome: Sendable>: Sendable {
    var written: [(entry: Entry<Work>, outcome: Outcome)] = []
    /// Entries that the database will never accept, each with the reason.
    var refused: [(entry: Entry<Work>, why: String)] = []
}

extension Batch {
    /// Writes entries and groups them by result.
    func store<Work: Sendable, Outcome: Sendable>(
        _ entries: [Entry<Work>],
        _ write: @Sendable ([Work]) async throws(StoreError) -> [Outcome]
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

    /// Looks items up.
    ///
    /// If an item fails individually in the database, its messages are given up; if a drain comes first, all are.
    ///
    /// `positions` returns the positions of the messages that need an item.
    ///
    /// - Returns: The answers, part by part, and the items without one; `nil` if a drain came first.
    func lookUp<Item: Sendable, Value: Sendable>(
        _ items: [Item],
        for positions: ([Item]) -> [Int],
        _ work: @Sendable ([Item]) async throws(StoreError) -> Value
    ) async -> (values: [Value], unanswered: [Item])? {
        guard let answers = await persistence.ask(items, work) else {
            messages.giveUp(positions(items))
            return nil
        }
        for (item, why) in answers.unanswered { messages.giveUp(positions([item]), because: why) }
        return (answers.values, answers.unanswered.map(\.item))
    }
}

/// The times of a batch's steps, for tracing.
///
/// Thread safety: all state is behind a lock.
final class BatchTimings: Sendable {
    /// A step that all events of a batch take together.
    enum Step: String, CaseIterable {
        case lookUp = "look up"
        case record
    }

    let time: any TimeSource
    private let spans = Mutex<[Step: (start: Instant, end: Instant)]>([:])

    init(_ time: any TimeSource) {
        self.time = time
    }

    /// Notes the time of a step.
    ///
    /// A step in several parts lasts from the first to the last of them.
    func took(_ step: Step, from start: Instant, to end: Instant) {
        spans.withLock { spans in
            let before = spans[step]
            spans[step] = (min(before?.start ?? start, start), max(before?.end ?? end, end))
        }
    }

    /// The steps in their order.
    var all: [(step: Step, start: Instant, end: Instant)] {
        spans.withLock { spans in
            Step.allCases.compactMap { step in spans[step].map { (step, $0.start, $0.end) } }
        }
    }
}

extension Batch {
    /// Runs one step, and notes its duration if the batch is traced.
    func timed<Value>(_ step: BatchTimings.Step, _ work: () async -> Value) async -> Value {
        guard let steps else { return await work() }
        let start = steps.time.now()
        let value = await work()
        steps.took(step, from: start, to: steps.time.now())
        return value
    }
}
