import Synchronization

/// Work of a lane that outlives its batch, such as dead letters that wait for the broker's confirm.
///
/// Each piece of work holds only its own data and its message's place in the prefetch. The total memory has a limit,
/// too; beyond it the lane takes no messages.
///
/// Thread safety: the weight is behind a lock; continuations are resumed outside of it.
final class DetachedWork: Sendable {
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

    /// Creates an empty set.
    ///
    /// `limit` is in bytes. The default holds 512 of the largest events, a quarter of a usual prefetch; a slow provider
    /// can hold half of it.
    init(limit: Int = 128 << 20) {
        self.limit = limit
        (work, door) = AsyncStream.makeStream()
    }

    /// The bytes of the work in progress.
    var weight: Int { state.withLock { $0.weight } }

    /// The number of callers that wait for memory.
    var waiting: Int { state.withLock(\.waiting.count) }

    /// Adds work that ``run()`` executes; `bytes` count until it ends.
    func add(weighing bytes: Int, _ work: @escaping Work) {
        take(bytes)
        door.yield { [self] in
            await work()
            giveBack(bytes)
        }
    }

    /// Counts bytes while `body` runs.
    func carrying<Value>(_ bytes: Int, _ body: () async -> Value) async -> Value {
        take(bytes)
        defer { giveBack(bytes) }
        return await body()
    }

    /// Returns when the bytes in progress are below the limit, or ``run()`` has ended.
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

    /// Executes added work concurrently, until ``finish()`` or a cancellation.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await work in work { group.addTask(operation: work) }
        }
        wake { $0.isOver = true }
    }

    /// Ends the addition of work.
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
