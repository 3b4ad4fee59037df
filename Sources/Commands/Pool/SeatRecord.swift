import ServiceRuntime

/// What the workers of one seat have come to, and how long to wait before the next.
///
/// Only a worker that has taken up its work proves that the configuration is good. It is known by its end, or by its age:
/// what is wrong from the start ends a worker with its own exit code before it has begun.
struct SeatRecord: Sendable {
    private var pauses = RestartPauses()
    private var isProven = false

    /// Whether it ended for what no restart can mend: its command line or its configuration, or what these lead to.
    static func isHopeless(_ ending: ChildEnding) -> Bool {
        switch ending {
        case .exited(ExitCode.usage.rawValue), .exited(ExitCode.configuration.rawValue): true
        case .exited, .killed: false
        }
    }

    /// Whether a worker has taken up its work in this seat, the one that ended so after `span` among them.
    func hasRun(_ ending: ChildEnding, for span: Duration) -> Bool {
        isProven || Self.hadBegun(ending, for: span)
    }

    mutating func note(_ ending: ChildEnding, for span: Duration) {
        isProven = hasRun(ending, for: span)
    }

    /// How long to wait before the next one.
    mutating func pause(afterRunning span: Duration, using chance: inout some RandomNumberGenerator) -> Duration {
        pauses.next(afterRunning: span, using: &chance)
    }

    /// Without its servers a worker does not begin either.
    private static func hadBegun(_ ending: ChildEnding, for span: Duration) -> Bool {
        if span >= RestartPauses.soundAfter { return true }
        return !isHopeless(ending) && ending != .exited(ExitCode.unavailable.rawValue)
    }
}
