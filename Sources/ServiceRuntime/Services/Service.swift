/// Something that runs for as long as the process does: a lane's consumer, a listener, a clerk.
package protocol Service: Sendable {
    /// What the log calls it.
    var name: String { get }

    /// Runs until `drain` fires, then finishes what it holds and returns.
    ///
    /// Returning earlier, or throwing at any time, drains the whole group. When the drain takes too long the task is
    /// cancelled; what is still held then must be left where someone else finds it.
    func run(until drain: DrainSignal) async throws
}
