import Glibc
import ServiceRuntime
import Synchronization

/// One connection that processes jobs in sequence, each in a call that blocks until its outcome is known.
///
/// A connection belongs to one thread at a time: the thread that took it out of `BlockingConnectionPool`, which returns
/// it or ends it.
protocol BlockingConnection: AnyObject, Sendable {
    associatedtype Job: Sendable
    associatedtype Outcome: BlockingOutcome
    associatedtype Options: BlockingConnectionOptions

    /// Creates the connection; throws if libcurl rejects an option.
    ///
    /// Nothing is connected yet.
    init(_ options: Options) throws(TransferError)

    /// Returns the only text about a job that may appear in an error.
    static func attempt(_ job: Job, _ options: Options) -> String

    /// Processes a job to its end.
    ///
    /// About every second, it checks whether a task still waits for the job. It notifies `turn` before the job can
    /// reach the peer.
    func carry(_ turn: BlockingJob<Self>) -> Outcome

    /// Closes the connection to the peer; this may take until the peer's answer.
    func end()
}

/// The outcomes that all connections share.
protocol BlockingOutcome: Sendable {
    /// The peer certainly has not accepted the job.
    static func notSent(_ error: TransferError) -> Self
    /// The job may have reached the peer.
    static func unknown(_ error: TransferError) -> Self
}

/// The properties of connections that `BlockingConnectionPool` uses.
protocol BlockingConnectionOptions: Sendable {
    /// The name of the threads.
    var name: String { get }
    /// The number of concurrent connections.
    var connections: Int { get }
    /// A PEM file with the trusted authorities, used instead of the system's.
    var authoritiesFile: String? { get }
    /// The time that active jobs may take to end when `BlockingConnectionPool` closes.
    var closeGrace: Duration { get }

    func refusal(_ reason: String) -> TransferError
}

extension BlockingConnectionOptions {
    /// Rejects options that no connection can use.
    func validateLanes() throws(TransferError) {
        guard (1...64).contains(connections) else { throw refusal("connections must be between 1 and 64") }
        guard closeGrace >= .zero, closeGrace <= .seconds(3600) else {
            throw refusal("the grace for closing must be between nothing and an hour")
        }
        guard authoritiesFile?.utf8.allSatisfy(ASCII.isHeaderValue) ?? true else {
            throw refusal("file names must not contain control characters")
        }
        if let authoritiesFile, access(authoritiesFile, R_OK) != 0 {
            throw refusal("the file \(authoritiesFile) cannot be read")
        }
    }
}

/// The current job of a batch.
struct BlockingJob<L: BlockingConnection>: Sendable {
    let batch: BlockingBatch<L>
    let index: Int

    var job: L.Job { batch.jobs[index] }

    /// Whether no task waits for the job any longer.
    var isAbandoned: Bool { batch.isAbandoned }

    /// Records that the job may reach the peer from now on; returns false if it must not, because its outcome has
    /// already been reported.
    func depart() -> Bool { batch.depart(index) }
}

/// The jobs of one `send` and the outcomes received for them.
final class BlockingBatch<L: BlockingConnection>: Sendable {
    private struct State {
        var outcomes: Outcomes<L.Outcome>
        /// Jobs of which bytes may have been sent.
        var departed: Set<Int> = []
        var isAbandoned = false
    }

    let jobs: [L.Job]
    private let options: L.Options
    private let state: Mutex<State>

    init(_ jobs: [L.Job], _ options: L.Options) {
        self.jobs = jobs
        self.options = options
        state = Mutex(State(outcomes: Outcomes(count: jobs.count)))
    }

    /// Whether no task waits for the batch any longer, so that active jobs may stop.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Sets the waiting task, and resumes it immediately if all jobs have already ended.
    func begin(_ waiter: CheckedContinuation<[L.Outcome], Never>) {
        state.withLock { $0.outcomes.begin(waiter) }
    }

    /// Records that a job may reach the peer from now on; returns false if it already has its outcome.
    func depart(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.outcomes.isOpen(index) else { return false }
            state.departed.insert(index)
            return true
        }
    }

    /// Stores an outcome, unless there is one already; the last one resumes the waiting task.
    func settle(_ index: Int, _ outcome: L.Outcome) {
        state.withLock { $0.outcomes.settle(index, outcome) }
    }

    /// Settles a job that no connection will process as not sent.
    func refuse(_ index: Int, _ reason: AbortReason) {
        settle(index, .notSent(error(index, reason)))
    }

    /// Settles every job without an outcome: departed jobs as unknown, the others as not sent.
    func giveUp(_ reason: AbortReason) {
        state.withLock { state in
            state.isAbandoned = true
            for index in jobs.indices where state.outcomes.isOpen(index) {
                let error = error(index, reason)
                state.outcomes.settle(index, state.departed.contains(index) ? .unknown(error) : .notSent(error))
            }
        }
    }

    private func error(_ index: Int, _ reason: AbortReason) -> TransferError {
        reason.error(attempt: L.attempt(jobs[index], options))
    }
}
