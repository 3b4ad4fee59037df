import BellhopRules
import ServiceRuntime
import Synchronization

/// Limits sends in flight to one provider of one app.
///
/// The limit is a number of pushes over all lanes, with a tenth kept for urgent ones. Each lane is also limited to a
/// number of broker messages, because its prefetch is limited. Deliveries that are pulled from a backlog hold no
/// messages.
///
/// Within a lane, places are granted in the order of requests, urgent requests before others. While sends are in
/// flight, a request does not get a small part of its places: a batch in many parts is settled and acknowledged in many
/// parts, and leaves only small parts to the next. So a request for more places than are free waits until half of the
/// lane's places, or half of all, are free. It takes fewer only when its time is up.
///
/// A waiting request holds its messages meanwhile, and counts them in the shares of all windows. If the shares do not
/// suffice, it does not wait, so that no lane stalls because its messages wait here.
///
/// Thread safety: all state is behind one lock; continuations are resumed outside of it.
final class SendWindow: Sendable {
    /// The number of places that a caller may use.
    struct Grant: Equatable {
        static let none = Grant(pushes: 0, messages: 0)

        var pushes: Int
        var messages: Int

        init(pushes: Int, messages: Int) {
            self.pushes = pushes
            self.messages = messages
        }

        /// Creates the grant for these pushes of a request, in the same notation.
        init(for wanted: ArraySlice<Int>) {
            pushes = wanted.count
            messages = zip(wanted, wanted.dropFirst()).count { $0 != $1 } + (wanted.isEmpty ? 0 : 1)
        }

        static func - (whole: Grant, part: Grant) -> Grant {
            Grant(pushes: whole.pushes - part.pushes, messages: whole.messages - part.messages)
        }
    }

    /// The work for which a caller requests places.
    private enum Request {
        /// The message of each push; pushes of one message are adjacent.
        case messages([Int])
        /// A number of pushes, none of which holds a message.
        case pulled(Int)

        var pushes: Int {
            switch self {
            case .messages(let messages): messages.count
            case .pulled(let count): count
            }
        }

        var messages: Int {
            switch self {
            case .messages(let messages): Grant(for: messages[...]).messages
            case .pulled: 0
            }
        }
    }

    /// The queue of a request.
    ///
    /// A request that waits for messages of its lane does not delay requests without messages.
    private struct WaitQueue: Hashable {
        let lane: Lane
        let holdsMessages: Bool
    }

    private struct Waiter {
        let number: Int
        /// All of its messages have their shares.
        let request: Request
        let queue: WaitQueue
        let continuation: CheckedContinuation<Grant, Never>
    }

    private struct State {
        /// Pushes in flight, over all lanes.
        var pushes = 0
        var messages: [Lane: Int] = [:]
        /// The last time at which a place was taken or returned for a message.
        ///
        /// The window has been full for messages for at most this long.
        ///
        /// Pulled deliveries continue while nothing moves for requests with messages, and do not prolong their
        /// patience.
        var latestMove: ContinuousClock.Instant
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    private typealias Served = [(continuation: CheckedContinuation<Grant, Never>, grant: Grant)]

    private let capacity: Int
    private let reserve: Int
    private let limits: [Lane: Int]
    private let shares: LaneQuota
    private let time: any TimeSource
    private let state: Mutex<State>

    /// Creates a window.
    ///
    /// `capacity` counts pushes, `limits` counts the messages of one lane; a lane without a limit may take all.
    ///
    /// The `shares` are common to all windows.
    init(
        capacity: Int,
        limits: [Lane: Int] = [:],
        shares: LaneQuota = LaneQuota(),
        time: any TimeSource = SystemTime()
    ) {
        self.shares = shares
        self.time = time
        state = Mutex(State(latestMove: time.steady()))
        self.capacity = max(1, capacity)
        self.limits = limits
        reserve = capacity / 10
    }

    /// Takes places for the first pushes of `wanted` as soon as there are some.
    ///
    /// It returns none if the time is up or the task is cancelled. `wanted` contains the message of each push; pushes
    /// of one message are adjacent.
    ///
    /// The time is up immediately if nothing has moved for as long as `patience`. Waiting at a stalled window is
    /// useless, and a long queue would exhaust its patience one request at a time. The same applies if all windows
    /// together hold as many messages of the lane as they may.
    func acquire(
        _ wanted: [Int],
        for lane: Lane,
        until deadline: ContinuousClock.Instant,
        patience: Duration
    ) async -> Grant {
        let queue = WaitQueue(lane: lane, holdsMessages: true)
        return await acquire(.messages(wanted), queue, until: deadline, patience: patience)
    }

    /// Takes places for deliveries of a backlog as soon as there are some, or none if the time is up.
    func acquire(pulling count: Int, for lane: Lane, until deadline: ContinuousClock.Instant) async -> Grant {
        let queue = WaitQueue(lane: lane, holdsMessages: false)
        return await acquire(.pulled(count), queue, until: deadline, patience: nil)
    }

    private func acquire(
        _ request: Request,
        _ queue: WaitQueue,
        until deadline: ContinuousClock.Instant,
        patience: Duration?
    ) async -> Grant {
        let (grant, isBehind, latestMove) = state.withLock { state in
            let isBehind = state.waiters.contains { $0.queue == queue }
            return (isBehind ? .none : take(request, queue.lane, &state), isBehind, state.latestMove)
        }
        let end = patience.map { min(deadline, latestMove + $0) } ?? deadline
        guard grant == .none else { return grant }
        guard end > time.steady(), shares.takeAll(request.messages, of: queue.lane) else {
            // Places that were left for waiting requests belong to them.
            return isBehind ? .none : state.withLock { take(request, queue.lane, &$0, allowPartial: true) }
        }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try? await time.sleep(for: end - time.steady())
            dismiss(number, allowPartial: true)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(Waiter(number: number, request: request, queue: queue, continuation: continuation))
                // The handler and the timer do not find a request that was cancelled or late before it joined the
                // queue.
                if Task.isCancelled || end <= time.steady() { dismiss(number, allowPartial: false) }
            }
        } onCancel: {
            dismiss(number, allowPartial: false)
        }
    }

    /// Returns places of a lane and serves waiting requests.
    func release(_ grant: Grant, of lane: Lane) {
        shares.giveBack(grant.messages, of: lane)
        let served = state.withLock { state in
            state.pushes -= grant.pushes
            state.messages[lane, default: 0] -= grant.messages
            if grant.messages > 0 { state.latestMove = time.steady() }
            return serve(&state)
        }
        for (continuation, grant) in served { continuation.resume(returning: grant) }
    }

    /// The number of pushes in flight.
    var inFlight: Int { state.withLock(\.pushes) }

    /// The number of waiting requests.
    var waiting: Int { state.withLock(\.waiters.count) }

    /// Takes places from the window.
    ///
    /// A request that has waited already has its shares, and returns the unneeded ones.
    private func take(
        _ request: Request,
        _ lane: Lane,
        _ state: inout State,
        allowPartial: Bool = false,
        hasShares: Bool = false
    ) -> Grant {
        let allPushes = capacity - (lane == .urgent ? 0 : reserve)
        let allMessages = limits[lane] ?? .max
        let pushes = max(0, allPushes - state.pushes)
        var grant = Self.fit(request, pushes, messages: allMessages - state.messages[lane, default: 0])
        let isLargeEnough =
            grant.pushes == request.pushes || state.pushes == 0 || grant.pushes >= allPushes / 2
            || grant.messages >= allMessages / 2
        guard grant != .none, isLargeEnough || allowPartial else { return .none }
        if hasShares {
            shares.giveBack(request.messages - grant.messages, of: lane)
        } else {
            let shared = shares.take(upTo: grant.messages, of: lane)
            if shared < grant.messages { grant = Self.fit(request, pushes, messages: shared) }
            guard grant != .none else { return .none }
        }
        state.pushes += grant.pushes
        state.messages[lane, default: 0] += grant.messages
        if grant.messages > 0 { state.latestMove = time.steady() }
        return grant
    }

    /// Returns a grant for as many of the first pushes as there are places.
    private static func fit(_ request: Request, _ pushes: Int, messages: Int) -> Grant {
        guard case .messages(let wanted) = request else {
            return Grant(pushes: min(request.pushes, pushes), messages: 0)
        }
        var grant = Grant.none
        for (position, message) in wanted.prefix(pushes).enumerated() {
            let isNew = position == 0 || wanted[position - 1] != message
            guard !isNew || grant.messages < messages else { break }
            if isNew { grant.messages += 1 }
            grant.pushes += 1
        }
        return grant
    }

    private func enqueue(_ waiter: Waiter) {
        let served = state.withLock { state in
            let isUrgent = waiter.queue.lane == .urgent
            let place = isUrgent ? state.waiters.firstIndex { $0.queue.lane != .urgent } : nil
            state.waiters.insert(waiter, at: place ?? state.waiters.endIndex)
            return serve(&state)
        }
        for (continuation, grant) in served { continuation.resume(returning: grant) }
    }

    private func serve(_ state: inout State) -> Served {
        var served: Served = []
        var left: [Waiter] = []
        for waiter in state.waiters {
            let isBehind = left.contains { $0.queue == waiter.queue }
            let grant = isBehind ? .none : take(waiter.request, waiter.queue.lane, &state, hasShares: true)
            if grant == .none { left.append(waiter) } else { served.append((waiter.continuation, grant)) }
        }
        state.waiters = left
        return served
    }

    /// Removes a request from the queue because its time is up or it was cancelled.
    private func dismiss(_ number: Int, allowPartial: Bool) {
        let served: (waiter: Waiter, grant: Grant)? = state.withLock { state in
            guard let place = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
            let waiter = state.waiters.remove(at: place)
            let grant =
                allowPartial
                ? take(waiter.request, waiter.queue.lane, &state, allowPartial: true, hasShares: true) : .none
            if grant == .none { shares.giveBack(waiter.request.messages, of: waiter.queue.lane) }
            return (waiter, grant)
        }
        if let served { served.waiter.continuation.resume(returning: served.grant) }
    }
}
