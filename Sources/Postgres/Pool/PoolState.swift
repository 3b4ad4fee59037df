import ServiceRuntime

extension Backoff {
    /// Between attempts to connect.
    static var ofServer: Backoff { Backoff(base: .milliseconds(100), cap: .seconds(5)) }
}

/// What a pool decides: who gets which connection, when to open another, and when to let one go.
///
/// A pure value: it opens nothing, waits for nothing and reads no clock. A slot stands for one connection and the
/// thread that holds it, from the first attempt to connect until the thread ends. Callers are served in the order in
/// which they came; the connection used last is used next, so that those not needed grow old and can be closed.
struct PoolState<Request: Sendable> {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Hashable, Sendable {
        case connecting
        case backingOff
        case idle
        case busy
    }

    struct Waiting {
        let request: Request
        let deadline: Instant
    }

    /// What a slot does next.
    enum Turn: Sendable {
        case serve(Request)
        case rest
        case end
    }

    let size: ClosedRange<Int>
    private(set) var phases: [Int: Phase] = [:]
    private(set) var waiting: [Waiting] = []
    private(set) var isClosed = false
    /// Free slots, the one used last at the end.
    private var idle: [Int] = []
    private var backoff = Backoff.ofServer
    /// No further connection is opened before this.
    private var pausedUntil: Instant?
    private var lastSlot = 0

    init(size: ClosedRange<Int>) {
        self.size = size
    }

    var established: Int { count(.idle) + count(.busy) }

    func count(_ phase: Phase) -> Int {
        phases.values.reduce(0) { $1 == phase ? $0 + 1 : $0 }
    }

    /// When the first of those who wait has waited enough.
    var nextDeadline: Instant? { waiting.map(\.deadline).min() }
}

/// Callers.
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
        waiting.append(Waiting(request: request, deadline: deadline))
        return .wait(starting: growth(now: now))
    }

    /// Takes a waiting request out of the queue; nil if it is no longer there.
    mutating func abandon(where matches: (Request) -> Bool) -> Request? {
        guard let index = waiting.firstIndex(where: { matches($0.request) }) else { return nil }
        return waiting.remove(at: index).request
    }

    /// Takes out those who have waited enough.
    mutating func expire(now: Instant) -> [Request] {
        let expired = waiting.filter { $0.deadline <= now }
        if !expired.isEmpty { waiting.removeAll { $0.deadline <= now } }
        return expired.map(\.request)
    }

    /// Takes out everybody: the server has refused for a reason that waiting does not mend.
    mutating func dismissWaiting() -> [Request] {
        defer { waiting.removeAll() }
        return waiting.map(\.request)
    }
}

/// Slots.
extension PoolState {
    /// A connection stands.
    ///
    /// After a pause several callers may wait, and more slots are worth starting.
    mutating func connected(_ slot: Int, now: Instant) -> (turn: Turn, starting: [Int]) {
        backoff.reset()
        pausedUntil = nil
        let turn = free(slot)
        return (turn, growth(now: now))
    }

    /// The work is done and the connection is still good.
    mutating func released(_ slot: Int) -> Turn {
        free(slot)
    }

    enum Refusal {
        /// The slot tries again after this time.
        case retry(after: Duration)
        /// The slot ends; another still tries, or nobody needs it.
        case end
    }

    /// No connection came about.
    ///
    /// One slot goes on trying, with growing pauses, while anything is wanted of the pool; where other connections
    /// stand, they do the work and growing is put off.
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

    /// The pause of a slot is over; false if the pool has closed meanwhile.
    mutating func retries(_ slot: Int) -> Bool {
        guard !isClosed else { return false }
        phases[slot] = .connecting
        return true
    }

    struct Succession {
        /// The slot opens a new connection in place of the lost one; otherwise it ends.
        let reconnects: Bool
        /// A free slot that takes over the request.
        let successor: Int?
    }

    /// The connection is gone.
    ///
    /// A request that it has not begun goes to another, before all who wait.
    mutating func lost(_ slot: Int, unserved: Waiting? = nil) -> Succession {
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
        return Succession(reconnects: reconnects, successor: successor)
    }

    /// Takes an idle slot out of use for a look at its connection; false if it was given work just now.
    mutating func borrows(_ slot: Int) -> Bool {
        guard phases[slot] == .idle else { return false }
        idle.removeAll { $0 == slot }
        phases[slot] = .busy
        return true
    }

    /// A slot has been idle for long and would end; false if it is needed, or was given work just now.
    mutating func retires(_ slot: Int) -> Bool {
        guard phases[slot] == .idle, phases.count > size.lowerBound || isClosed else { return false }
        idle.removeAll { $0 == slot }
        phases[slot] = nil
        return true
    }

    /// The thread has ended.
    mutating func ended(_ slot: Int) {
        phases[slot] = nil
        idle.removeAll { $0 == slot }
    }

    /// Nothing more is accepted.
    ///
    /// Returns those who wait and will not be served; busy slots end when they are done, and the others must be woken
    /// to end.
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

    private mutating func free(_ slot: Int) -> Turn {
        if isClosed { return .end }
        if waiting.isEmpty {
            phases[slot] = .idle
            idle.append(slot)
            return .rest
        }
        phases[slot] = .busy
        return .serve(waiting.removeFirst().request)
    }

    /// As many new slots as there are callers for whom none is being opened yet, within the size.
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
