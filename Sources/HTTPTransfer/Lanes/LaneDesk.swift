import ServiceRuntime
import Synchronization

/// Deals waiting jobs out to the lanes of one transport, first come, first served.
///
/// A lane has a thread only while there is something to send: libcurl blocks until a job is done, so that lanes of one
/// thread would wait for each other's slow peers.
final class LaneDesk<L: Lane>: Sendable {
    private struct State {
        var waiting: [LaneTurn<L>] = []
        /// Jobs in front of it have been taken.
        var head = 0
        var resting: [L] = []
        /// Lanes with a thread.
        var busy = 0
        /// What the busy ones carry, by the number of the job.
        var underWay: [Int: LaneBatch<L>] = [:]
        /// Jobs that were taken, ever.
        var taken = 0
        var isClosed = false
        var isGivenUp = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let options: L.Options
    private let state: Mutex<State>

    /// The first lane is made here, so that libcurl's refusal of an option reaches whoever set it.
    init(_ options: L.Options) throws(TransferError) {
        self.options = options
        let first = try L(options)
        state = Mutex(State(resting: [first]))
    }

    /// Sends all of `jobs` and gives one outcome for each, in the same order.
    func send(_ jobs: [L.Job]) async -> [L.Outcome] {
        guard !jobs.isEmpty else { return [] }
        let batch = LaneBatch<L>(jobs, options)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                batch.begin(continuation)
                submit(batch)
            }
        } onCancel: {
            batch.giveUp(.cancelled)
        }
    }

    /// Takes no more jobs, and returns when no lane is busy or the grace is over.
    func close() async {
        beginClosing()
        let grace = options.closeGrace
        let deadline = Task {
            try await Task.sleep(for: grace)
            self.giveUp()
        }
        await waitForLanes()
        deadline.cancel()
    }

    /// Ends everything, without waiting for it.
    func abandon() {
        beginClosing()
        giveUp()
    }

    private func submit(_ batch: LaneBatch<L>) {
        let lanes = state.withLock { state -> [L?]? in
            guard !state.isClosed else { return nil }
            state.waiting += batch.jobs.indices.map { LaneTurn(batch: batch, index: $0) }
            let count = min(state.waiting.count - state.head, options.connections - state.busy)
            state.busy += count
            return (0..<count).map { _ in state.resting.popLast() }
        }
        guard let lanes else { return batch.giveUp(.closed) }
        for lane in lanes { NativeThread.start(named: options.name) { self.work(on: lane) } }
    }

    /// Gives up what waits and what rests; what is under way may go on.
    private func beginClosing() {
        let (turns, lanes) = state.withLock { state -> (ArraySlice<LaneTurn<L>>, [L]) in
            state.isClosed = true
            defer {
                (state.waiting, state.head, state.resting) = ([], 0, [])
            }
            // To end a connection means a last word and its reply, so it takes a thread, too.
            state.busy += state.resting.count
            return (state.waiting[state.head...], state.resting)
        }
        for turn in turns { turn.batch.refuse(turn.index, .closed) }
        for lane in lanes {
            NativeThread.start(named: options.name) {
                lane.end()
                self.leave()
            }
        }
    }

    /// Ends what is still under way, and whoever waits for it.
    private func giveUp() {
        let (batches, closers) = state.withLock { state in
            state.isGivenUp = true
            defer { state.closers = [] }
            return (Array(state.underWay.values), state.closers)
        }
        for batch in batches { batch.giveUp(.closed) }
        for closer in closers { closer.resume() }
    }

    /// Returns when no lane is busy, or when `giveUp` is called.
    private func waitForLanes() async {
        await withCheckedContinuation { closer in
            let mustWait = state.withLock { state in
                let mustWait = state.busy > 0 && !state.isGivenUp
                if mustWait { state.closers.append(closer) }
                return mustWait
            }
            if !mustWait { closer.resume() }
        }
    }

    private func work(on lane: L?) {
        var lane = lane
        var done: Int?
        while let (turn, number) = take(after: done, orRest: lane) {
            done = number
            guard !turn.isAbandoned else { continue }
            do throws(TransferError) {
                let usable = if let lane { lane } else { try L(options) }
                lane = usable
                turn.batch.settle(turn.index, usable.carry(turn))
            } catch {
                turn.batch.settle(turn.index, .notSent(error))
            }
        }
    }

    /// The next job and its number; nil where there is none, and then the lane is not the caller's any more.
    private func take(after done: Int?, orRest lane: L?) -> (LaneTurn<L>, number: Int)? {
        let (job, isClosed) = state.withLock { state -> ((LaneTurn<L>, number: Int)?, Bool) in
            if let done { state.underWay[done] = nil }
            guard state.head < state.waiting.count else {
                (state.waiting, state.head) = ([], 0)
                guard !state.isClosed else { return (nil, true) }
                if let lane { state.resting.append(lane) }
                state.busy -= 1
                return (nil, false)
            }
            let turn = state.waiting[state.head]
            state.head += 1
            state.taken += 1
            state.underWay[state.taken] = turn.batch
            return ((turn, state.taken), false)
        }
        if isClosed {
            lane?.end()
            leave()
        }
        return job
    }

    private func leave() {
        let closers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.busy -= 1
            guard state.busy == 0 else { return [] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
