import Glibc

/// One connection that processes jobs in sequence, each in a call that blocks until its outcome is known.
///
/// A lane belongs to one thread at a time: the thread that took it out of `BlockingConnectionPool`, which returns it or
/// ends it.
protocol Lane: AnyObject, Sendable {
    associatedtype Job: Sendable
    associatedtype Outcome: BlockingOutcome
    associatedtype Options: BlockingConnectionOptions

    /// Creates the lane; throws if libcurl rejects an option.
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

/// The outcomes that all lanes share.
protocol BlockingOutcome: Sendable {
    /// The peer certainly has not accepted the job.
    static func notSent(_ error: TransferError) -> Self
    /// The job may have reached the peer.
    static func unknown(_ error: TransferError) -> Self
}

/// The properties of lanes that `BlockingConnectionPool` uses.
protocol BlockingConnectionOptions: Sendable {
    /// The name of the threads.
    var name: String { get }
    /// The number of concurrent lanes.
    var connections: Int { get }
    /// A PEM file with the trusted authorities, used instead of the system's.
    var authoritiesFile: String? { get }
    /// The time that active jobs may take to end when `BlockingConnectionPool` closes.
    var closeGrace: Duration { get }

    func refusal(_ reason: String) -> TransferError
}

extension BlockingConnectionOptions {
    /// Rejects options that no lane can use.
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
struct BlockingJob<L: Lane>: Sendable {
    let batch: BlockingBatch<L>
    let index: Int

    var job: L.Job { batch.jobs[index] }

    /// Whether no task waits for the job any longer.
    var isAbandoned: Bool { batch.isAbandoned }

    /// Records that the job may reach the peer from now on; returns false if it must not, because its outcome has
    /// already been reported.
    func depart() -> Bool { batch.depart(index) }
}
