import ServiceRuntime
import Synchronization

/// Distributes waiting jobs to the connections of one transport, first come, first served.
///
/// A connection has a thread only while there is something to send. libcurl blocks until a job is done, so connections
/// of one thread would wait for each other's slow peers.
final class BlockingConnectionPool<L: BlockingConnection>: Sendable {
    private struct State {
        var waiting = Queue<BlockingJob<L>>()
        var resting: [L] = []
        /// The number of connections with a thread.
        var busy = 0
        /// The batches of the active jobs, by the number of the job.
        var underWay: [Int: BlockingBatch<L>] = [:]
        /// The number of jobs ever started.
        var taken = 0
        var isClosed = false
    }

    private let options: L.Options
    /// Completes when this object is closed and no connection is busy.
    private let completion = Completion()
    private let state: Mutex<State>

    /// Creates the first connection, so that the caller receives libcurl's rejection of an option.
    init(_ options: L.Options) throws(TransferError) {
        self.options = options
        let first = try L(options)
        state = Mutex(State(resting: [first]))
    }

    /// Sends all of `jobs` and returns one outcome for each, in the same order.
    func send(_ jobs: [L.Job]) async -> [L.Outcome] {
        guard !jobs.isEmpty else { return [] }
        let batch = BlockingBatch<L>(jobs, options)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                batch.begin(continuation)
                submit(batch)
            }
        } onCancel: {
            batch.giveUp(.cancelled)
        }
    }

    /// Accepts no more jobs, and returns when no connection is busy or the grace period is over.
    func close() async {
        beginClosing()
        await completion.wait(within: options.closeGrace)
        giveUp()
    }

    /// Ends everything, without waiting for it.
    func abandon() {
        beginClosing()
        giveUp()
    }

    private func submit(_ batch: BlockingBatch<L>) {
        let connections = state.withLock { state -> [L?]? in
            guard !state.isClosed else { return nil }
            state.waiting.append(contentsOf: batch.jobs.indices.map { BlockingJob(batch: batch, index: $0) })
            let count = min(state.waiting.count, options.connections - state.busy)
            state.busy += count
            return (0..<count).map { _ in state.resting.popLast() }
        }
        guard let connections else { return batch.giveUp(.closed) }
        for connection in connections { NativeThread.start(named: options.name) { self.work(on: connection) } }
    }

    /// Abandons waiting jobs and idle connections; active jobs may continue.
    private func beginClosing() {
        let (jobs, connections, isOver) = state.withLock { state in
            state.isClosed = true
            defer { state.resting = [] }
            // Closing a connection takes a command and its reply, so it also needs a thread.
            state.busy += state.resting.count
            return (state.waiting.take(state.waiting.count), state.resting, state.busy == 0)
        }
        if isOver { completion.complete() }
        for job in jobs { job.batch.refuse(job.index, .closed) }
        for connection in connections {
            NativeThread.start(named: options.name) {
                connection.end()
                self.leave()
            }
        }
    }

    /// Abandons the active jobs.
    private func giveUp() {
        for batch in state.withLock({ Array($0.underWay.values) }) { batch.giveUp(.closed) }
    }

    /// The next step of a connection.
    private enum Next {
        case carry(BlockingJob<L>, number: Int)
        /// None: the connection is idle in the list and no longer belongs to the caller.
        case rest
        case end
    }

    /// Processes jobs in sequence.
    ///
    /// An outcome is reported after the connection has become free, so that a caller with an immediate next job finds
    /// it.
    private func work(on connection: L?) {
        var connection = connection
        var done: (job: BlockingJob<L>, number: Int, outcome: L.Outcome)?
        while true {
            let next = next(after: done?.number, on: connection)
            if let done { done.job.batch.settle(done.job.index, done.outcome) }
            switch next {
            case .carry(let job, let number): done = (job, number, carry(job, on: &connection))
            case .rest: return
            case .end:
                connection?.end()
                return leave()
            }
        }
    }

    private func carry(_ job: BlockingJob<L>, on connection: inout L?) -> L.Outcome {
        do throws(TransferError) {
            let usable = if let connection { connection } else { try L(options) }
            connection = usable
            return usable.carry(job)
        } catch {
            return .notSent(error)
        }
    }

    private func next(after done: Int?, on connection: L?) -> Next {
        state.withLock { state in
            if let done { state.underWay[done] = nil }
            while let job = state.waiting.popFirst() {
                guard !job.isAbandoned else { continue }
                state.taken += 1
                state.underWay[state.taken] = job.batch
                return .carry(job, number: state.taken)
            }
            guard !state.isClosed else { return .end }
            if let connection { state.resting.append(connection) }
            state.busy -= 1
            return .rest
        }
    }

    private func leave() {
        let isOver = state.withLock { state in
            state.busy -= 1
            return state.busy == 0
        }
        if isOver { completion.complete() }
    }
}
