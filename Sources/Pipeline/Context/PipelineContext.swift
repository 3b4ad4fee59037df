package import ServiceRuntime
package import Store
package import Tracing

/// The dependencies of the whole pipeline: the clock, random numbers, the log and the metrics.
package struct PipelineContext: Sendable {
    let time: any TimeSource
    let chance: RandomSource
    let logger: Logger
    let metrics: PipelineMetrics
    /// The announcer of inbox changes; `nil` if no process has open streams.
    let inboxChanges: InboxChangeNotifier?
    /// The tracer; `nil` if tracing is off, so that no spans are created.
    let tracer: Tracer?
    /// Prevents a worker from acting on a wrong clock; `nil` only if nothing depends on one.
    let clocks: ClockWatch?
    /// The claimant that its claims name.
    let claimant: Claimant
    /// The dead letters of all parts, for the periodic line of the log.
    let deadLettered = DeadLetterTally()

    package init(
        time: any TimeSource = SystemTime(),
        chance: RandomSource = .system,
        logger: Logger,
        metrics: PipelineMetrics,
        inboxChanges: InboxChangeNotifier? = nil,
        tracer: Tracer? = nil,
        clocks: ClockWatch? = nil,
        claimant: Claimant = .unknown
    ) {
        self.time = time
        self.chance = chance
        self.logger = logger
        self.metrics = metrics
        self.inboxChanges = inboxChanges
        self.tracer = tracer
        self.clocks = clocks
        self.claimant = claimant
    }
}

extension PipelineContext {
    /// Returns a claim that no other batch has.
    func newClaim() -> Claim {
        var chance = chance
        return Claim(of: claimant, using: &chance)
    }
}
