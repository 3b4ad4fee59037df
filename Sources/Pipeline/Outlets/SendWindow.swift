import BellhopRules
import ServiceRuntime
import Synchronization

/// How much may be under way to one provider of one app: so many pushes over all lanes, a tenth of them kept for urgent
/// ones, and for each lane pushes of so many of the broker's messages, since those are what it may hold; what is pulled
/// from a backlog holds none.
///
/// Places are handed out in the order of asking within a lane, urgent ones before the others. Nobody is given a mere crumb
/// while something is under way: a batch that is torn into many parts is settled and acknowledged in many parts, and its
/// crumbs leave crumbs to the next. So who asks for more than is free waits until half of a lane's places, or of all, are
/// free, and takes less only when its time is up.
///
/// Whoever waits holds its messages meanwhile, and takes them from the shares of all windows for that. Where these do not
/// suffice it does not wait: no lane stands still because its messages stand in line here.
///
/// Thread safety: all state is behind one lock; continuations are resumed outside of it.
final class SendWindow: Sendable {
    /// What somebody may have under way.
    struct Grant: Equatable {
        static let none = Grant(pushes: 0, messages: 0)

        var pushes: Int
        var messages: Int

        init(pushes: Int, messages: Int) {
            self.pushes = pushes
            self.messages = messages
        }

        /// For these pushes of a grant, given as when it was asked for.
        init(for wanted: ArraySlice<Int>) {
            pushes = wanted.count
            messages = zip(wanted, wanted.dropFirst()).count { $0 != $1 } + (wanted.isEmpty ? 0 : 1)
        }

        static func - (whole: Grant, part: Grant) -> Grant {
            Grant(pushes: whole.pushes - part.pushes, messages: whole.messages - part.messages)
        }
    }

    /// What somebody wants places for.
    private enum Wish {
        /// For each push of which message it is, those of one message side by side.
        case messages([Int])
        /// So many pushes, of which none holds a message.
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

    /// Who stands in line: one that waits for messages of its lane holds up nobody who needs none.
    private struct Line: Hashable {
        let lane: Lane
        let holdsMessages: Bool
    }

    private struct Waiter {
        let number: Int
        /// Of its messages all have their shares.
        let wish: Wish
        let line: Line
        let continuation: CheckedContinuation<Grant, Never>
    }

    private struct State {
        /// Under way, over all lanes.
        var pushes = 0
        var messages: [Lane: Int] = [:]
        /// When a place was last taken or given back for a message: full for them since then at the longest.
        ///
        /// What is pulled goes on while nothing moves for those who hold messages: it does not make them wait.
        var latestMove: ContinuousClock.Instant
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    private typealias Served = [(continuation: CheckedContinuation<Grant, Never>, grant: Grant)]

    private let capacity: Int
    private let reserve: Int
    private let limits: [Lane: Int]
    private let shares: LaneShares
    private let time: any TimeSource
    private let state: Mutex<State>

    /// `capacity` counts pushes, `limits` messages of one lane; a lane without a limit may take all.
    ///
    /// The `shares` are those of all windows together.
    init(
        capacity: Int,
        limits: [Lane: Int] = [:],
        shares: LaneShares = LaneShares(),
        time: any TimeSource = SystemTime()
    ) {
        self.shares = shares
        self.time = time
        state = Mutex(State(latestMove: time.steady()))
        self.capacity = max(1, capacity)
        self.limits = limits
        reserve = capacity / 10
    }

    /// Takes places for the first ones of `wanted` as soon as there is one, or none when the time is up or the task is
    /// cancelled; `wanted` says for each push of which message it is, those of one message side by side.
    ///
    /// The time is up at once where nothing has moved for as long as `patience`: whoever comes to a window that stands
    /// still learns nothing by waiting, and a long line would wait its patience out one after the other. So it is where all
    /// windows together hold of the lane what they may.
    func acquire(
        _ wanted: [Int],
        for lane: Lane,
        until deadline: ContinuousClock.Instant,
        patience: Duration
    ) async -> Grant {
        let line = Line(lane: lane, holdsMessages: true)
        return await acquire(.messages(wanted), line, until: deadline, patience: patience)
    }

    /// Takes places for what waits in a backlog, as soon as there are some, or none when the time is up.
    func acquire(pulling count: Int, for lane: Lane, until deadline: ContinuousClock.Instant) async -> Grant {
        let line = Line(lane: lane, holdsMessages: false)
        return await acquire(.pulled(count), line, until: deadline, patience: nil)
    }

    private func acquire(
        _ wish: Wish,
        _ line: Line,
        until deadline: ContinuousClock.Instant,
        patience: Duration?
    ) async -> Grant {
        let (grant, isBehind, latestMove) = state.withLock { state in
            let isBehind = state.waiters.contains { $0.line == line }
            return (isBehind ? .none : take(wish, line.lane, &state), isBehind, state.latestMove)
        }
        let end = patience.map { min(deadline, latestMove + $0) } ?? deadline
        guard grant == .none else { return grant }
        guard end > time.steady(), shares.takeAll(wish.messages, of: line.lane) else {
            // Places that were left to those in line are theirs.
            return isBehind ? .none : state.withLock { take(wish, line.lane, &$0, evenCrumbs: true) }
        }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try? await time.sleep(for: end - time.steady())
            dismiss(number, takingCrumbs: true)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(Waiter(number: number, wish: wish, line: line, continuation: continuation))
                // Whoever was cancelled or late before it stood in line is not found by the handler or the timer.
                if Task.isCancelled || end <= time.steady() { dismiss(number, takingCrumbs: false) }
            }
        } onCancel: {
            dismiss(number, takingCrumbs: false)
        }
    }

    /// Gives places of a lane back and serves those who wait.
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

    /// Pushes that are under way now.
    var inFlight: Int { state.withLock(\.pushes) }

    /// Callers who stand in line.
    var waiting: Int { state.withLock(\.waiters.count) }

    /// Whoever stood in line has its shares already, and leaves those that it does not need.
    private func take(
        _ wish: Wish,
        _ lane: Lane,
        _ state: inout State,
        evenCrumbs: Bool = false,
        hasShares: Bool = false
    ) -> Grant {
        let allPushes = capacity - (lane == .urgent ? 0 : reserve)
        let allMessages = limits[lane] ?? .max
        let pushes = max(0, allPushes - state.pushes)
        var grant = Self.fit(wish, pushes, messages: allMessages - state.messages[lane, default: 0])
        let isDecent =
            grant.pushes == wish.pushes || state.pushes == 0 || grant.pushes >= allPushes / 2
            || grant.messages >= allMessages / 2
        guard grant != .none, isDecent || evenCrumbs else { return .none }
        if hasShares {
            shares.giveBack(wish.messages - grant.messages, of: lane)
        } else {
            let shared = shares.take(upTo: grant.messages, of: lane)
            if shared < grant.messages { grant = Self.fit(wish, pushes, messages: shared) }
            guard grant != .none else { return .none }
        }
        state.pushes += grant.pushes
        state.messages[lane, default: 0] += grant.messages
        if grant.messages > 0 { state.latestMove = time.steady() }
        return grant
    }

    /// How many of the first pushes there are places for.
    private static func fit(_ wish: Wish, _ pushes: Int, messages: Int) -> Grant {
        guard case .messages(let wanted) = wish else { return Grant(pushes: min(wish.pushes, pushes), messages: 0) }
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
            let isUrgent = waiter.line.lane == .urgent
            let place = isUrgent ? state.waiters.firstIndex { $0.line.lane != .urgent } : nil
            state.waiters.insert(waiter, at: place ?? state.waiters.endIndex)
            return serve(&state)
        }
        for (continuation, grant) in served { continuation.resume(returning: grant) }
    }

    private func serve(_ state: inout State) -> Served {
        var served: Served = []
        var left: [Waiter] = []
        for waiter in state.waiters {
            let isBehind = left.contains { $0.line == waiter.line }
            let grant = isBehind ? .none : take(waiter.wish, waiter.line.lane, &state, hasShares: true)
            if grant == .none { left.append(waiter) } else { served.append((waiter.continuation, grant)) }
        }
        state.waiters = left
        return served
    }

    /// Takes somebody out of the line whose time is up, or who was cancelled.
    private func dismiss(_ number: Int, takingCrumbs: Bool) {
        let served: (waiter: Waiter, grant: Grant)? = state.withLock { state in
            guard let place = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
            let waiter = state.waiters.remove(at: place)
            let grant =
                takingCrumbs
                ? take(waiter.wish, waiter.line.lane, &state, evenCrumbs: true, hasShares: true) : .none
            if grant == .none { shares.giveBack(waiter.wish.messages, of: waiter.line.lane) }
            return (waiter, grant)
        }
        if let served { served.waiter.continuation.resume(returning: served.grant) }
    }
}
