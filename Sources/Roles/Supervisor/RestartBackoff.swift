import ServiceRuntime

/// The pauses before a process is restarted.
///
/// They grow from half a second to 30 seconds, with jitter. After a process has run for at least 60 seconds, they start
/// again from half a second.
struct RestartBackoff: Sendable {
    static let soundAfter = Duration.seconds(60)

    private var backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))

    mutating func next(afterRunning span: Duration, using chance: inout some RandomNumberGenerator) -> Duration {
        if span >= Self.soundAfter { backoff.reset() }
        return backoff.next(using: &chance)
    }
}
