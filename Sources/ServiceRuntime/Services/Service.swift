/// A part that runs as long as the process: a lane's consumer, a listener, the dead-letter filer.
package protocol Service: Sendable {
    /// The name in the log.
    var name: String { get }

    /// Runs until `drain` fires, then finishes its current work and returns.
    ///
    /// Returning earlier, or throwing at any time, drains the whole group. If the drain takes too long, the task is
    /// cancelled. The remaining work must then be left where another process finds it.
    func run(until drain: DrainSignal) async throws
}

/// A service with a final message, which is sent when all services of its process have ended, including this one.
package protocol FinalizingService: Service {
    /// Sends the final message.
    ///
    /// `leavingNothing` is `false` if a service had to be left behind and may still be at work.
    func sayLastWords(leavingNothing: Bool) async
}
