import AMQP
import BellhopRules
import ServiceRuntime
import Synchronization

/// The messages of one consumer that fail individually in the database while it accepts others.
///
/// Each is set aside, unacknowledged, and processed again separately: first after one or two seconds, then after
/// increasing pauses of up to a minute. Meanwhile the next batches arrive. Number and bytes are limited; at the limit
/// the consumer takes no messages. A message whose content is no longer in memory returns to its queue after a pause.
///
/// Thread safety: all state is behind a lock; continuations are resumed outside of it.
final class StuckMessages: Sendable {
    /// Processes one message like a batch, and leaves the limiter when it is stored.
    typealias Work = @Sendable (IncomingMessage, ConcurrencyLimiter) async -> Void

    fileprivate struct Entry {
        let message: IncomingMessage
        let since: ContinuousClock.Instant
        var backoff = Backoff(base: .seconds(2), cap: .seconds(60))
        var isGivenUpAgain = false
    }

    fileprivate struct State {
        var entries: [DeliveryTag: Entry] = [:]
        var bytes = 0
        var latestAnswer: ContinuousClock.Instant?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The next step of one message: another attempt, or its return to the queue.
    private enum Turn: Sendable {
        case again(IncomingMessage, after: Duration)
        case back(DeliveryTag)
    }

    private let limits: (messages: Int, bytes: Int)
    private let context: PipelineContext
    private let names: TopologyNames
    private let lane: String
    private let state = Mutex(State())
    private let turns: AsyncStream<Turn>
    private let door: AsyncStream<Turn>.Continuation

    /// Creates an empty set.
    ///
    /// `lane` labels the metrics.
    ///
    /// `limit` must be well below the prefetch.
    init(lane: String, names: TopologyNames, context: PipelineContext, limit: Int, bytes: Int = 16 << 20) {
        self.lane = lane
        self.names = names
        self.context = context
        limits = (limit, bytes)
        (turns, door) = AsyncStream.makeStream()
    }

    var count: Int { state.withLock(\.entries.count) }

    /// Accepts the messages that a batch has given up.
    func add(_ givenUp: [OpenMessages.Abandoned]) {
        for one in givenUp {
            context.metrics.setAside.count(lane)
            guard let message = one.message else {
                door.yield(.back(one.tag))
                continue
            }
            add(message, because: one.why)
        }
        context.metrics.setAside.note(count, lane)
    }

    private func add(_ message: IncomingMessage, because why: String?) {
        let now = context.time.steady()
        var chance = context.chance
        let pause = state.withLock { state -> (isFirst: Bool, span: Duration?) in
            // A message of an earlier connection is redelivered on the next one.
            guard !state.entries.keys.contains(where: message.tag.isOfEarlierConnection) else { return (false, nil) }
            state.drop { $0.tag.isOfEarlierConnection(than: message.tag) }
            guard var entry = state.entries[message.tag] else {
                var entry = Entry(message: message, since: now)
                let span = entry.backoff.next(using: &chance)
                state.entries[message.tag] = entry
                state.bytes += message.cost
                return (true, span)
            }
            // The task that processes it schedules its next turn.
            entry.isGivenUpAgain = true
            state.entries[message.tag] = entry
            return (false, nil)
        }
        if pause.isFirst { tell(of: message, why) }
        if let span = pause.span { door.yield(.again(message, after: span)) }
    }

    private func tell(of message: IncomingMessage, _ why: String?) {
        let read = ParsedIdentity(InboundEnvelope(message, eventsExchange: names.events))
        context.logger.warning(
            "the database fails on a message alone, setting it aside",
            [
                "lane": .text(lane), "queue": .text(message.queue), "app": .text(read.app?.text ?? "-"),
                "event": .text(read.eventID?.text ?? "-"), "error": .text(why ?? "-"),
            ]
        )
    }

    /// Notes that another message was stored or settled.
    func noteAnswer() {
        let now = context.time.steady()
        state.withLock { if !$0.entries.isEmpty { $0.latestAnswer = now } }
    }

    /// The text of the problem; `nil` if the consumer as a whole has none.
    var whatIsWrong: String? {
        let now = context.time.steady()
        return state.withLock { state in
            guard let oldest = state.entries.values.map(\.since).min() else { return nil }
            let count = state.entries.count
            if state.isFull(limits) { return "\(count) messages are set aside, which is the limit; see the log" }
            guard oldest.duration(to: now) > Self.patience, state.latestAnswer.map({ $0 < oldest }) ?? true else {
                return nil
            }
            return "\(count) messages are set aside, and nothing else has been stored since"
        }
    }

    private static let patience = Duration.seconds(15)

    /// Returns when the set is below its limit, or a drain has begun.
    func room() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                guard state.isFull(limits), !state.isOver else { return true }
                state.waiting.append(continuation)
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Processes each message in its turns until ``finish()``; `release` returns one to its queue.
    func run(
        until drain: DrainSignal,
        _ work: @escaping Work,
        release: @escaping @Sendable ([DeliveryTag]) -> Void
    ) async {
        let limiter = ConcurrencyLimiter(places: Self.atOnce)
        await withDiscardingTaskGroup { group in
            for await turn in turns {
                switch turn {
                case .again(let message, let pause):
                    group.addTask { await self.again(message, after: pause, drain, limiter, work) }
                case .back(let tag):
                    group.addTask {
                        guard await drain.sleep(for: Self.pauseBeforeReturn, by: self.context.time) else { return }
                        if !drain.isDraining { release([tag]) }
                    }
                }
            }
        }
    }

    /// The number of messages that are stored again concurrently; each attempt may take as long as a statement may.
    private static let atOnce = 2
    /// The pause before a return, because the broker counts each return towards the delivery limit.
    private static let pauseBeforeReturn = Duration.seconds(15)

    private func again(
        _ message: IncomingMessage,
        after pause: Duration,
        _ drain: DrainSignal,
        _ limiter: ConcurrencyLimiter,
        _ work: Work
    ) async {
        guard await drain.sleep(for: pause, by: context.time), !drain.isDraining else { return }
        await context.clocks?.hold(until: drain)
        await limiter.enter()
        guard state.withLock({ $0.entries[message.tag] != nil }), !drain.isDraining else { return limiter.leave() }
        // A part of it may be done already.
        await work(message.deliveredAgain, limiter)
        next(message)
    }

    /// The time after which a message returns to its queue.
    ///
    /// After half an hour, the broker closes the channel of a consumer that does not acknowledge, and counts a return
    /// of all its messages.
    private static let longestStay = Duration.seconds(20 * 60)

    /// Removes a message that its batch has finished, or schedules its next turn.
    private func next(_ message: IncomingMessage) {
        var chance = context.chance
        let now = context.time.steady()
        let (turn, woken) = state.withLock { state -> (Turn?, [CheckedContinuation<Void, Never>]) in
            guard var entry = state.entries[message.tag] else { return (nil, []) }
            guard entry.isGivenUpAgain, now - entry.since < Self.longestStay else {
                state.drop { $0.tag == message.tag }
                return (entry.isGivenUpAgain ? .back(message.tag) : nil, state.takeWaiting(limits))
            }
            entry.isGivenUpAgain = false
            let pause = entry.backoff.next(using: &chance)
            state.entries[message.tag] = entry
            return (.again(message, after: pause), [])
        }
        for continuation in woken { continuation.resume() }
        context.metrics.setAside.note(count, lane)
        if let turn { door.yield(turn) }
    }

    /// Ends all waits for free places.
    func open() {
        let woken = state.withLock { state in
            state.isOver = true
            return state.takeWaiting(limits)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Ends the addition of messages.
    func finish() {
        open()
        door.finish()
    }
}

extension StuckMessages.State {
    fileprivate func isFull(_ limits: (messages: Int, bytes: Int)) -> Bool {
        entries.count >= limits.messages || bytes >= limits.bytes
    }

    fileprivate mutating func drop(where isOver: (IncomingMessage) -> Bool) {
        for (tag, entry) in entries where isOver(entry.message) {
            entries[tag] = nil
            bytes -= entry.message.cost
        }
    }

    fileprivate mutating func takeWaiting(_ limits: (messages: Int, bytes: Int)) -> [CheckedContinuation<Void, Never>] {
        guard !isFull(limits) || isOver else { return [] }
        defer { waiting = [] }
        return waiting
    }
}
