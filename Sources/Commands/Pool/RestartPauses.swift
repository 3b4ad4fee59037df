import ServiceRuntime

/// How long to wait before a worker that ended is started again.
///
/// Pauses grow from half a second to half a minute, jittered; a worker that ran for a minute was a sound one, and they
/// begin anew.
struct RestartPauses: Sendable {
    static let soundAfter = Duration.seconds(60)

    private var backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))

    mutating func next(afterRunning span: Duration, using chance: inout some RandomNumberGenerator) -> Duration {
        if span >= Self.soundAfter { backoff.reset() }
        return backoff.next(using: &chance)
    }
}
