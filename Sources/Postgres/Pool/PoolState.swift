import ServiceRuntime

extension Backoff {
    /// The pauses between attempts to connect.
    static var ofServer: Backoff { Backoff(base: .milliseconds(100), cap: .seconds(5)) }
}

/// The decisions of a pool: which caller gets which connection, when to open another, and when to close one.
///
/// It is a pure value: it opens nothing, waits for nothing and reads no clock. A slot represents one connection and its
/// thread, from the first attempt to connect until the thread ends. Callers are served in order of arrival. The most
/// recently used connection is used next, so that unneeded ones age and can be closed.
struct PoolState<Request: Sendable> {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Hashable, Sendable {
        case connecting
        case backingOff
        case idle
        case busy
    }

    struct WaitingRequest {
        let request: Request
        let deadline: Instant
    }

    /// The next action of a slot.
    enum SlotAction: Sendable {
        case serve(Request)
        case rest
        case end
    }

    let size: ClosedRange<Int>
    private(set) var phases: [Int: Phase] = [:]
    private(set) var waiting: [WaitingRequest] = []
    private(set) var isClosed = false
    /// The free slots, with the most recently used one at the end.
    private var idle: [Int] = []
    private var backoff = Backoff.ofServer
    /// The time before which no further connection is opened.
    private var pausedUntil: Instant?
    private var lastSlot = 0

    init(size: ClosedRange<Int>) { self.size = size }

    var established: Int { count(.idle) + count(.busy) }

    func count(_ phase: Phase) -> Int { phases.values.reduce(0) { $1 == phase ? $0 + 1 : $0 } }

    /// The earliest deadline of the waiting requests.
    var nextDeadline: Instant? { waiting.map(\.deadline).min() }
}

/// Methods for callers.
extension PoolState {
    enum Submission {
        case run(slot: Int)
        /// The request waits; the new slots, if any, must be started.
        case wait(starting: [Int])
        case refuse
    }

    mutating func submit(_ request: Request, deadline: Instant, now: Instant) -> Submission {
        if isClosed { return .refuse }
        if let slot = takeIdle() { return .run(slot: slot) }
        waiting.append(WaitingRequest(request: request, deadline: deadline))
        return .wait(starting: growth(now: now))
    }

    /// Removes a waiting request from the queue; returns `nil` if it no longer waits.
    mutating func abandon(where matches: (Request) -> Bool) -> Request? {
        guard let index = waiting.firstIndex(where: { matches($0.request) }) else { return nil }
        return waiting.remove(at: index).request
    }

    /// Removes and returns the requests whose deadline has passed.
    mutating func expire(now: Instant) -> [Request] {
        let expired = waiting.filter { $0.deadline <= now }
        if !expired.isEmpty { waiting.removeAll { $0.deadline <= now } }
        return expired.map(\.request)
    }

    /// Removes and returns all waiting requests, because the server rejected connections for a reason that persists.
    mutating func dismissWaiting() -> [Request] {
        defer { waiting.removeAll() }
        return waiting.map(\.request)
    }
}

/// Methods for slots.
extension PoolState {
    /// Records that a slot is connected.
    ///
    /// After a pause, several callers may wait, so that more slots may be started.
    mutating func connected(_ slot: Int, now: Instant) -> (turn: SlotAction, starting: [Int]) {
        backoff.reset()
        pausedUntil = nil
        let turn = free(slot)
        return (turn, growth(now: now))
    }

    /// Records that the work is done and the connection is still usable.
    mutating func released(_ slot: Int) -> SlotAction { free(slot) }

    enum Refusal {
        /// The slot tries again after this time.
        case retry(after: Duration)
        /// The slot ends, because another one still tries or no caller needs it.
        case end
    }

    /// Records that a slot could not connect.
    ///
    /// One slot continues to try, with growing pauses, while a connection is required. If other connections exist, they
    /// do the work and growth is postponed.
    mutating func refused(_ slot: Int, now: Instant, chance: Double) -> Refusal {
        phases[slot] = nil
        let isAnotherTrying = count(.connecting) + count(.backingOff) > 0
        if isClosed || isAnotherTrying { return .end }
        let pause = backoff.next(chance: chance)
        pausedUntil = now + pause
        let isWanted = !waiting.isEmpty || size.lowerBound > 0
        guard established == 0, isWanted else { return .end }
        phases[slot] = .backingOff
        return .retry(after: pause)
    }

    /// Ends the pause of a slot; returns `false` if the pool has been closed.
    mutating func retries(_ slot: Int) -> Bool {
        guard !isClosed else { return false }
        phases[slot] = .connecting
        return true
    }

    struct Replacement {
        /// Whether the slot opens a new connection in place of the lost one; otherwise it ends.
        let reconnects: Bool
        /// A free slot that takes over the request.
        let successor: Int?
    }

    /// Records that a slot lost its connection.
    ///
    /// A request that it had not begun goes to another slot, before all waiting requests.
    mutating func lost(_ slot: Int, unserved: WaitingRequest? = nil) -> Replacement {
        phases[slot] = nil
        idle.removeAll { $0 == slot }
        var successor: Int?
        if let unserved {
            successor = takeIdle()
            if successor == nil { waiting.insert(unserved, at: 0) }
        }
        let opening = count(.connecting) + count(.backingOff)
        let isWanted = waiting.count > opening || phases.count < size.lowerBound
        let reconnects = !isClosed && isWanted
        if reconnects { phases[slot] = .connecting }
        return Replacement(reconnects: reconnects, successor: successor)
    }

    /// Takes an idle slot out of use to check its connection; returns `false` if it was just given work.
    mutating func borrows(_ slot: Int) -> Bool {
        guard phases[slot] == .idle else { return false }
        idle.removeAll { $0 == slot }
        phases[slot] = .busy
        return true
    }

    /// Removes a slot that was idle for long; returns `false` if it is needed or was just given work.
    mutating func retires(_ slot: Int) -> Bool {
        guard phases[slot] == .idle, phases.count > size.lowerBound || isClosed else { return false }
        idle.removeAll { $0 == slot }
        phases[slot] = nil
        return true
    }

    /// Records that the slot's thread has ended.
    mutating func ended(_ slot: Int) {
        phases[slot] = nil
        idle.removeAll { $0 == slot }
    }

    /// Closes the pool and returns the waiting requests, which are not served.
    ///
    /// Busy slots end after their work; the others must be woken to end.
    mutating func close() -> [Request] {
        isClosed = true
        idle.removeAll()
        return dismissWaiting()
    }
}

extension PoolState {
    private mutating func takeIdle() -> Int? {
        guard let slot = idle.popLast() else { return nil }
        phases[slot] = .busy
        return slot
    }

    private mutating func free(_ slot: Int) -> SlotAction {
        if isClosed { return .end }
        if waiting.isEmpty {
            phases[slot] = .idle
            idle.append(slot)
            return .rest
        }
        phases[slot] = .busy
        return .serve(waiting.removeFirst().request)
    }

    /// Returns new slots, within the size: one for each waiting caller for which no connection is being opened yet.
    private mutating func growth(now: Instant) -> [Int] {
        if isClosed { return [] }
        if let pausedUntil, now < pausedUntil, !phases.isEmpty { return [] }
        let opening = count(.connecting) + count(.backingOff)
        let wanted = min(waiting.count - opening, size.upperBound - phases.count)
        guard wanted > 0 else { return [] }
        return (0..<wanted).map { _ in
            lastSlot += 1
            phases[lastSlot] = .connecting
            return lastSlot
        }
    }
}
