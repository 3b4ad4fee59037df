import ServiceRuntime

/// The results of a seat's earlier processes, and the pause before the next one.
///
/// Only a process that has started its work proves that the configuration is valid. The exit code or the running time
/// shows it: a fault that exists from the start ends a process with a specific exit code before it starts its work.
struct RestartHistory: Sendable {
    private var pauses = RestartBackoff()
    private var isProven = false

    /// Whether a process ended with an error that no restart can correct: an invalid command line or configuration, or
    /// a consequence of these.
    static func isHopeless(_ ending: ChildExit) -> Bool {
        switch ending {
        case .exited(ExitCode.usage.rawValue), .exited(ExitCode.configuration.rawValue): true
        case .exited, .killed: false
        }
    }

    /// Whether a process has started its work in this seat.
    ///
    /// The process that ended after `span` is included.
    func hasRun(_ ending: ChildExit, for span: Duration) -> Bool {
        isProven || Self.hadBegun(ending, for: span)
    }

    mutating func note(_ ending: ChildExit, for span: Duration) {
        isProven = hasRun(ending, for: span)
    }

    /// Returns the pause before the next process, or before another attempt if none could be started (`nil`).
    ///
    /// After an orderly end, such as SIGTERM to rotate a key, the next process starts immediately, whatever failed
    /// before. A process that ran for less than a second waits, so that nothing restarts in a tight loop.
    mutating func pause(
        after ending: ChildExit?,
        running span: Duration,
        using chance: inout some RandomNumberGenerator
    ) -> Duration {
        guard ending == .exited(0), span >= .seconds(1) else { return pauses.next(afterRunning: span, using: &chance) }
        pauses = RestartBackoff()
        return .zero
    }

    /// Whether the process had started its work.
    ///
    /// An exit because of unavailable servers proves no start either.
    private static func hadBegun(_ ending: ChildExit, for span: Duration) -> Bool {
        if span >= RestartBackoff.soundAfter { return true }
        return !isHopeless(ending) && ending != .exited(ExitCode.unavailable.rawValue)
    }
}
