import Synchronization

/// What a lane has in hand that waits for longer than its batch: dead letters that the broker does not confirm.
///
/// Each holds nothing but itself, and its message's place in the prefetch. What all of them hold in memory has a limit, too:
/// beyond it the lane takes nothing in.
///
/// Thread safety: the weight is behind a lock; continuations are resumed outside of it.
final class Asides: Sendable {
    /// One piece of waiting work.
    typealias Work = @Sendable () async -> Void

    private struct State {
        var weight = 0
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let limit: Int
    private let state = Mutex(State())
    private let work: AsyncStream<Work>
    private let door: AsyncStream<Work>.Continuation

    /// `limit` is in bytes: room for half of a usual prefetch of the largest events, which is what a slow provider can hold.
    init(limit: Int = 128 << 20) {
        self.limit = limit
        (work, door) = AsyncStream.makeStream()
    }

    /// Bytes in hand.
    var weight: Int { state.withLock { $0.weight } }

    /// Callers who wait for room.
    var waiting: Int { state.withLock(\.waiting.count) }

    /// Has `work` done by ``run()``; `bytes` are in hand until it ends.
    func add(weighing bytes: Int, _ work: @escaping Work) {
        take(bytes)
        door.yield { [self] in
            await work()
            giveBack(bytes)
        }
    }

    /// Counts bytes for as long as `body` takes.
    func carrying<Value>(_ bytes: Int, _ body: () async -> Value) async -> Value {
        take(bytes)
        defer { giveBack(bytes) }
        return await body()
    }

    /// Returns when less than the limit is in hand, or nothing is done any more.
    func room() async {
        await withCheckedContinuation { continuation in
            let hasRoom = state.withLock { state in
                guard state.weight >= limit, !state.isOver else { return true }
                state.waiting.append(continuation)
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    /// Does what is added, side by side, until ``finish()`` or a cancellation.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await work in work { group.addTask(operation: work) }
        }
        wake { $0.isOver = true }
    }

    /// Nothing is added from now on.
    func finish() {
        door.finish()
    }

    private func take(_ bytes: Int) {
        state.withLock { $0.weight += bytes }
    }

    private func giveBack(_ bytes: Int) {
        wake { $0.weight -= bytes }
    }

    private func wake(_ change: (inout State) -> Void) {
        let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            change(&state)
            guard state.weight < limit || state.isOver else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in woken { continuation.resume() }
    }
}
