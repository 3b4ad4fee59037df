import ServiceRuntime
import Synchronization

/// The state that a consumer's callers share with its thread.
///
/// Thread safety: one lock protects all state and is held for a few assignments at a time. Continuations are resumed
/// outside the lock.
final class ConsumerInbox: Sendable {
    /// The state that the callers request.
    enum Phase {
        case open, stopped, closing
    }

    /// The pending work of the thread.
    struct Work {
        var acknowledged: [DeliveryTag] = []
        var released: [DeliveryTag] = []
        var phase = Phase.open
    }

    private typealias Answer = CheckedContinuation<[IncomingMessage]?, Never>

    private struct Waiter {
        let id: UInt64
        let limit: Int
        let bytes: Int
        let answer: Answer
    }

    private struct State {
        var buffer = MessageBuffer()
        var waiters: [Waiter] = []
        var latestWaiter: UInt64 = 0
        var work = Work()
        var hasWork = false
        var isAsleep = false
        var isConsuming = false
        var ownRefusal: String?
    }

    let waker = Waker()
    private let completion = Completion()
    private let byteLimit: Int
    private let state = Mutex(State())

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    // MARK: Users' side

    var isConsuming: Bool { state.withLock { $0.isConsuming && $0.work.phase == .open } }

    var ownRefusal: String? { state.withLock { $0.ownRefusal } }

    var bufferedBytes: Int { state.withLock { $0.buffer.bytes } }

    func next(atMost limit: Int, bytes: Int) async -> [IncomingMessage]? {
        let id = state.withLock { state in
            state.latestWaiter += 1
            return state.latestWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { answer in wait(Waiter(id: id, limit: limit, bytes: bytes, answer: answer)) }
        } onCancel: {
            giveUp(id)
        }
    }

    func settle(_ tags: [DeliveryTag], _ verdict: AckTracker.Acknowledgement) {
        guard !tags.isEmpty else { return }
        change { state in
            switch verdict {
            case .acknowledged: state.work.acknowledged += tags
            case .released: state.work.released += tags
            }
        }
    }

    func stop() { leave(for: .stopped) }

    func close() { leave(for: .closing) }

    func finished(within limit: Duration) async { await completion.wait(within: limit) }

    private func wait(_ waiter: Waiter) {
        enum Now { case wait, answer([IncomingMessage]?), answerAndWake([IncomingMessage]) }
        let now = state.withLock { state -> Now in
            // Checked under the lock, so that a later cancellation finds the waiter in the list.
            guard state.work.phase == .open, !Task.isCancelled else { return .answer(nil) }
            guard !state.buffer.isEmpty else {
                state.waiters.append(waiter)
                return .wait
            }
            let wasFull = state.buffer.bytes >= byteLimit
            let taken = state.buffer.take(waiter.limit, bytes: waiter.bytes)
            let wakes = wasFull && state.buffer.bytes < byteLimit && state.isAsleep
            if wakes { state.isAsleep = false }
            return wakes ? .answerAndWake(taken) : .answer(taken)
        }
        switch now {
        case .wait: break
        case .answer(let messages): waiter.answer.resume(returning: messages)
        case .answerAndWake(let messages):
            waker.wake()
            waiter.answer.resume(returning: messages)
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index)
        }
        waiter?.answer.resume(returning: nil)
    }

    private func leave(for phase: Phase) {
        let waiters = change { state -> [Waiter] in
            if state.work.phase != .closing { state.work.phase = phase }
            state.work.released += state.buffer.takeAll().map(\.tag)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.answer.resume(returning: nil) }
    }

    /// Changes the thread's pending work, and wakes the thread if it sleeps.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, wakes) = state.withLock { state -> (Result, Bool) in
            let result = body(&state)
            state.hasWork = true
            defer { state.isAsleep = false }
            return (result, state.isAsleep)
        }
        if wakes { waker.wake() }
        return result
    }

    // MARK: Thread's side

    var phase: Phase { state.withLock { $0.work.phase } }

    /// Whether more may be read, if `incoming` bytes have been read and not delivered yet.
    func hasRoom(beside incoming: Int = 0) -> Bool {
        state.withLock { $0.buffer.bytes + incoming < byteLimit }
    }

    func takeWork() -> Work {
        state.withLock { state in
            defer {
                state.work = Work(phase: state.work.phase)
                state.hasWork = false
            }
            return state.work
        }
    }

    func deliver(_ messages: [IncomingMessage]) {
        let answers = state.withLock { state -> [(Answer, [IncomingMessage])] in
            guard state.work.phase == .open else {
                state.work.released += messages.map(\.tag)
                state.hasWork = true
                return []
            }
            state.buffer.append(messages)
            var answers: [(Answer, [IncomingMessage])] = []
            while !state.buffer.isEmpty, !state.waiters.isEmpty {
                let waiter = state.waiters.removeFirst()
                answers.append((waiter.answer, state.buffer.take(waiter.limit, bytes: waiter.bytes)))
            }
            return answers
        }
        for (answer, taken) in answers { answer.resume(returning: taken) }
    }

    /// Drops the messages that were not taken.
    ///
    /// Their channel is closed, and the broker delivers them again.
    func forget() {
        state.withLock { state in
            _ = state.buffer.takeAll()
            state.isConsuming = false
        }
    }

    func setConsuming(_ isConsuming: Bool) { state.withLock { $0.isConsuming = isConsuming } }

    func setConsuming(_ isConsuming: Bool, ownRefusal: String?) {
        state.withLock { ($0.isConsuming, $0.ownRefusal) = (isConsuming, ownRefusal) }
    }

    /// Whether the thread may sleep.
    ///
    /// From now on, new work wakes it, and so does new room if there was none.
    func fallAsleep(hadRoom: Bool = true) -> Bool {
        state.withLock { state in
            let hasGainedRoom = !hadRoom && state.buffer.bytes < byteLimit
            state.isAsleep = !state.hasWork && !hasGainedRoom
            return state.isAsleep
        }
    }

    func wakeUp() { state.withLock { $0.isAsleep = false } }

    func finish() { completion.complete() }
}

/// A buffer of messages that wait to be taken, with their size in memory.
struct MessageBuffer {
    private(set) var bytes = 0
    private var messages = Queue<IncomingMessage>()

    var isEmpty: Bool { messages.isEmpty }

    mutating func append(_ arrived: [IncomingMessage]) {
        for message in arrived { bytes += message.cost }
        messages.append(contentsOf: arrived)
    }

    /// Returns the oldest messages: at most `limit`, and at most `most` bytes unless the first message alone is larger.
    ///
    /// Taking all messages copies nothing.
    mutating func take(_ limit: Int, bytes most: Int = .max) -> [IncomingMessage] {
        guard messages.count > limit || bytes > most else { return takeAll() }
        let last = min(messages.count, limit)
        var end = 0
        var size = 0
        while end < last, end == 0 || size + messages[end].cost <= most {
            size += messages[end].cost
            end += 1
        }
        bytes -= size
        return messages.take(end)
    }

    mutating func takeAll() -> [IncomingMessage] {
        bytes = 0
        return messages.take(messages.count)
    }
}
