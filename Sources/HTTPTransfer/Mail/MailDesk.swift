import ServiceRuntime
import Synchronization

/// Deals waiting mails out to the lanes of one transport, first come, first served.
///
/// A lane has a thread only while there is something to send: libcurl waits for the reply to a mail's content inside a
/// blocking call, so that lanes of one thread would wait for each other's slow servers.
final class MailDesk: Sendable {
    private struct Job {
        let batch: MailBatch
        let index: Int

        /// Settles the mail by what `lane` makes of it.
        func run(on lane: MailLane) {
            batch.settle(index, lane.send(batch.mails[index]) { [batch] in batch.isAbandoned })
        }
    }

    private struct State {
        var waiting: [Job] = []
        /// Jobs in front of it have been taken.
        var head = 0
        var resting: [MailLane] = []
        /// Lanes with a thread.
        var busy = 0
        /// What the busy ones carry, by the number of the job.
        var underWay: [Int: MailBatch] = [:]
        /// Jobs that were taken, ever.
        var taken = 0
        var isClosed = false
        var isGivenUp = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let options: SMTPTransportOptions
    private let state: Mutex<State>

    /// The first lane is made here, so that libcurl's refusal of an option reaches whoever set it.
    init(_ options: SMTPTransportOptions) throws(TransferError) {
        self.options = options
        state = Mutex(State(resting: [try MailLane(options)]))
    }

    func submit(_ batch: MailBatch) {
        let lanes = state.withLock { state -> [MailLane?]? in
            guard !state.isClosed else { return nil }
            state.waiting += batch.mails.indices.map { Job(batch: batch, index: $0) }
            let count = min(state.waiting.count - state.head, options.connections - state.busy)
            state.busy += count
            return (0..<count).map { _ in state.resting.popLast() }
        }
        guard let lanes else { return batch.giveUp(.closed) }
        for lane in lanes { NativeThread.start(named: options.name) { self.work(on: lane) } }
    }

    /// Gives up what waits and what rests; what is under way may go on.
    func beginClosing() {
        let (jobs, lanes) = state.withLock { state -> (ArraySlice<Job>, [MailLane]) in
            state.isClosed = true
            defer {
                (state.waiting, state.head, state.resting) = ([], 0, [])
            }
            // To end a connection means a last word and its reply, so it takes a thread, too.
            state.busy += state.resting.count
            return (state.waiting[state.head...], state.resting)
        }
        for job in jobs { job.batch.refuse(job.index, .closed) }
        for lane in lanes {
            NativeThread.start(named: options.name) {
                lane.end()
                self.leave()
            }
        }
    }

    /// Ends what is still under way, and whoever waits for it.
    func giveUp() {
        let (batches, closers) = state.withLock { state in
            state.isGivenUp = true
            defer { state.closers = [] }
            return (Array(state.underWay.values), state.closers)
        }
        for batch in batches { batch.giveUp(.closed) }
        for closer in closers { closer.resume() }
    }

    /// Returns when no lane is busy, or when `giveUp` is called.
    func waitForLanes() async {
        await withCheckedContinuation { closer in
            let mustWait = state.withLock { state in
                let mustWait = state.busy > 0 && !state.isGivenUp
                if mustWait { state.closers.append(closer) }
                return mustWait
            }
            if !mustWait { closer.resume() }
        }
    }

    private func work(on lane: MailLane?) {
        var lane = lane
        var done: Int?
        while let (job, number) = take(after: done, orRest: lane) {
            done = number
            guard job.batch.start(job.index) else { continue }
            do throws(TransferError) {
                let usable = if let lane { lane } else { try MailLane(options) }
                lane = usable
                job.run(on: usable)
            } catch {
                job.batch.settle(job.index, .notSent(error))
            }
        }
    }

    /// The next job and its number; nil where there is none, and then the lane is not the caller's any more.
    private func take(after done: Int?, orRest lane: MailLane?) -> (Job, number: Int)? {
        let (job, isClosed) = state.withLock { state -> ((Job, number: Int)?, Bool) in
            if let done { state.underWay[done] = nil }
            guard state.head < state.waiting.count else {
                (state.waiting, state.head) = ([], 0)
                guard !state.isClosed else { return (nil, true) }
                if let lane { state.resting.append(lane) }
                state.busy -= 1
                return (nil, false)
            }
            let job = state.waiting[state.head]
            state.head += 1
            state.taken += 1
            state.underWay[state.taken] = job.batch
            return ((job, state.taken), false)
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
