import Glibc

/// One connection that carries one job after the other, each in a call that blocks until its outcome is known.
///
/// A lane is with one thread at a time: the one that took it out of the desk, which puts it back or ends it.
protocol Lane: AnyObject, Sendable {
    associatedtype Job: Sendable
    associatedtype Outcome: LaneOutcome
    associatedtype Options: LaneOptions

    /// Throws where libcurl refuses an option; nothing is connected yet.
    init(_ options: Options) throws(TransferError)

    /// All that an error text may tell of a job.
    static func attempt(_ job: Job, _ options: Options) -> String

    /// Carries a job to its end.
    ///
    /// Asks about every second whether anybody still waits for it. Tells `turn` before the job can reach the peer.
    func carry(_ turn: LaneTurn<Self>) -> Outcome

    /// Says goodbye to the peer and forgets the connection; may take as long as the peer's answer.
    func end()
}

/// What the outcomes of all lanes have in common.
protocol LaneOutcome: Sendable {
    /// The peer certainly has not taken the job over.
    static func notSent(_ error: TransferError) -> Self
    /// The job may have reached the peer.
    static func unknown(_ error: TransferError) -> Self
}

/// What a desk has to know of its lanes.
protocol LaneOptions: Sendable {
    /// Names the threads.
    var name: String { get }
    /// Lanes at the same time.
    var connections: Int { get }
    /// PEM file with the authorities to trust instead of the system's.
    var authoritiesFile: String? { get }
    /// How long jobs under way may take to end when the desk closes.
    var closeGrace: Duration { get }

    func refusal(_ reason: String) -> TransferError
}

extension LaneOptions {
    /// Refuses what no lane can work with.
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

/// The job of a batch whose turn it is.
struct LaneTurn<L: Lane>: Sendable {
    let batch: LaneBatch<L>
    let index: Int

    var job: L.Job { batch.jobs[index] }

    /// Nobody waits for the job any more.
    var isAbandoned: Bool { batch.isAbandoned }

    /// From here on the job may reach the peer; false where it must not, since its outcome has been told already.
    func depart() -> Bool { batch.depart(index) }
}
