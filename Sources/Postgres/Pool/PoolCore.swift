import Dispatch
import ServiceRuntime
import Synchronization

/// The shared core of a pool: the state behind a lock, and the threads that act on it.
///
/// It is separate from `PostgresPool`, so that the threads keep the core alive and not the pool, whose end closes them.
final class PoolCore: Sendable {
    let recipe: SessionOptions
    /// The watch for a silent server; `nil` if only the callers' time limits apply.
    let watch: ServerWatchdog?
    private let options: PoolOptions
    private let shared: Mutex<Shared>
    private let timer = DispatchQueue(label: "bellhop.postgres.pool")
    /// Completes when the pool is closed and every thread has ended.
    private let completion = Completion()

    private struct Shared {
        var state: PoolState<PoolRequest>
        var threads: [Int: PoolThread] = [:]
        /// The current cancellation of each busy slot, used when the pool closes and its time limit ends.
        var running: [Int: CancellationHandle] = [:]
        var lastRefusal: PostgresError?
        /// The time at which the timer for waiting callers fires; `nil` while it is not set.
        var alarm: ContinuousClock.Instant?
    }

    init(_ options: PoolOptions) {
        self.options = options
        let recipe = options.recipe
        self.recipe = recipe
        watch = options.silence.map { ServerWatchdog(recipe, limit: $0) }
        shared = Mutex(Shared(state: PoolState(size: options.allowedSize)))
    }

    var isClosed: Bool { shared.withLock { $0.state.isClosed } }

    /// Whether the last attempt to connect succeeded or some connection is open.
    var isHealthy: Bool {
        shared.withLock { !$0.state.isClosed && ($0.lastRefusal == nil || $0.state.established > 0) }
    }

    var occupancy: PoolOccupancy {
        shared.withLock { shared in
            PoolOccupancy(
                idle: shared.state.count(.idle),
                busy: shared.state.count(.busy),
                opening: shared.state.count(.connecting) + shared.state.count(.backingOff),
                waiting: shared.state.waiting.count
            )
        }
    }
}

/// Methods for callers.
extension PoolCore {
    func submit(_ request: PoolRequest) {
        let step: Step = shared.withLock { shared in
            // Checked inside the lock, so that a later cancellation finds the request in the queue.
            if request.cancellation.isAsked { return .refuse(.abandoned) }
            switch shared.state.submit(request, deadline: request.deadline, now: .now) {
            case .refuse:
                return .refuse(.poolClosed)
            case .run(let slot):
                shared.running[slot] = request.cancellation
                return .deliver(shared.threads[slot])
            case .wait(let starting):
                start(starting, &shared)
                setAlarm(&shared)
                return .wait
            }
        }
        switch step {
        case .refuse(let error): request.refuse(error)
        case .deliver(let thread): thread?.deliver(request)
        case .wait: break
        }
    }

    /// The action after the lock is released.
    ///
    /// A thread that is woken inside the lock would only block on it.
    private enum Step {
        case refuse(PostgresError)
        case deliver(PoolThread?)
        case wait
    }

    /// Removes the request of a caller that gave up from the queue, if it still waits.
    func abandon(_ cancellation: CancellationHandle) {
        let request = shared.withLock { $0.state.abandon { $0.cancellation === cancellation } }
        request?.refuse(cancellation.silence.map(PostgresError.silentServer) ?? .abandoned)
    }

    /// Rejects waiting requests and lets running ones complete.
    ///
    /// Returns when every connection is closed, or when the time limit has ended and the remaining work was
    /// interrupted.
    func close() async {
        refuseEverybody()
        await completion.wait(within: options.closeTimeout)
        for cancellation in shared.withLock({ Array($0.running.values) }) { cancellation.ask() }
        // An interrupted statement is answered within the grace period, or its connection is given up.
        await completion.wait(within: Deadline.grace * 2)
    }

    func refuseEverybody() {
        let (waiting, isOver) = shared.withLock { shared in
            let waiting = shared.state.close()
            for thread in shared.threads.values { thread.wake() }
            return (waiting, shared.threads.isEmpty)
        }
        if isOver { completion.complete() }
        for request in waiting { request.refuse(.poolClosed) }
    }
}

/// Methods for the threads.
extension PoolCore {
    func note(_ failure: PostgresError) { options.observer(.failed(failure)) }

    func connected(_ slot: Int) -> PoolState<PoolRequest>.SlotAction {
        let turn = shared.withLock { shared in
            shared.lastRefusal = nil
            let (turn, starting) = shared.state.connected(slot, now: .now)
            start(starting, &shared)
            return noted(turn, slot, &shared)
        }
        options.observer(.connected)
        return turn
    }

    func released(_ slot: Int) -> PoolState<PoolRequest>.SlotAction {
        shared.withLock { noted($0.state.released(slot), slot, &$0) }
    }

    /// Returns the pause before the slot's next attempt; `nil` if the slot ends.
    func refused(_ slot: Int, _ error: PostgresError) -> Duration? {
        let (pause, dismissed) = shared.withLock { shared -> (Duration?, [PoolRequest]) in
            shared.lastRefusal = error
            let isHopeless = !(error.isTransient && options.waitsForServer) && shared.state.established == 0
            let dismissed = isHopeless ? shared.state.dismissWaiting() : []
            switch shared.state.refused(slot, now: .now, chance: .random(in: 0..<1)) {
            case .retry(let pause): return (pause, dismissed)
            case .end: return (nil, dismissed)
            }
        }
        for request in dismissed { request.refuse(error) }
        options.observer(.refused(error, retryIn: pause))
        return pause
    }

    func retries(_ slot: Int) -> Bool { shared.withLock { $0.state.retries(slot) } }

    /// Whether the slot opens another connection.
    func lost(_ slot: Int, _ reason: PostgresError?, unserved: PoolRequest? = nil) -> Bool {
        let (reconnects, successor) = shared.withLock { shared -> (Bool, PoolThread?) in
            shared.running[slot] = nil
            let waiting = unserved.map { PoolState<PoolRequest>.WaitingRequest(request: $0, deadline: $0.deadline) }
            let succession = shared.state.lost(slot, unserved: waiting)
            setAlarm(&shared)
            guard let successor = succession.successor else { return (succession.reconnects, nil) }
            shared.running[successor] = unserved?.cancellation
            return (succession.reconnects, shared.threads[successor])
        }
        if let unserved { successor?.deliver(unserved) }
        options.observer(.lost(reason))
        return reconnects
    }

    func borrows(_ slot: Int) -> Bool { shared.withLock { $0.state.borrows(slot) } }

    func retires(_ slot: Int) -> Bool { shared.withLock { $0.state.retires(slot) } }

    /// Records the end of a thread, as its last call.
    func ended(_ slot: Int) {
        let isOver = shared.withLock { shared in
            shared.state.ended(slot)
            shared.threads[slot] = nil
            shared.running[slot] = nil
            return shared.state.isClosed && shared.threads.isEmpty
        }
        if isOver { completion.complete() }
    }
}

extension PoolCore {
    private func start(_ slots: [Int], _ shared: inout Shared) {
        for slot in slots {
            let thread = PoolThread(slot: slot, core: self)
            shared.threads[slot] = thread
            thread.start()
        }
    }

    private func noted(
        _ turn: PoolState<PoolRequest>.SlotAction,
        _ slot: Int,
        _ shared: inout Shared
    ) -> PoolState<PoolRequest>.SlotAction {
        if case .serve(let request) = turn {
            shared.running[slot] = request.cancellation
        } else {
            shared.running[slot] = nil
        }
        return turn
    }

    /// Sets the timer for the earliest deadline of the waiting callers.
    private func setAlarm(_ shared: inout Shared) {
        guard let deadline = shared.state.nextDeadline else { return }
        if let alarm = shared.alarm, alarm <= deadline { return }
        shared.alarm = deadline
        let left = max(.zero, deadline - .now)
        timer.asyncAfter(deadline: .now() + left.dispatchInterval) { [weak self] in self?.expire(deadline) }
    }

    private func expire(_ alarm: ContinuousClock.Instant) {
        let (expired, cause) = shared.withLock { shared in
            if shared.alarm == alarm { shared.alarm = nil }
            let expired = shared.state.expire(now: .now)
            setAlarm(&shared)
            return (expired, shared.lastRefusal)
        }
        for request in expired { request.refuse(cause ?? exhausted) }
    }

    private var exhausted: PostgresError {
        PostgresError(
            .timedOut,
            "All \(options.allowedSize.upperBound) connections of the pool stayed busy for too long; nothing was sent. "
                + "Hold connections more briefly or raise the pool's size."
        )
    }
}
