package import ServiceRuntime
package import Store
package import Tracing

/// What everything in the pipeline is given of its surroundings: the clock, chance, the log and the meters.
package struct PipelineContext: Sendable {
    let time: any TimeSource
    let chance: Chance
    let logger: Logger
    let metrics: PipelineMetrics
    /// Nil where nobody has pages open.
    let herald: Herald?
    /// Nil where nobody keeps spans, and then none is made.
    let tracer: Tracer?
    /// What keeps a worker from deciding by a wrong clock; `nil` only if nothing is decided by one.
    let clocks: ClockWatch?
    /// Whom the claims name.
    let claimant: Claimant

    package init(
        time: any TimeSource = SystemTime(),
        chance: Chance = .system,
        logger: Logger,
        metrics: PipelineMetrics,
        herald: Herald? = nil,
        tracer: Tracer? = nil,
        clocks: ClockWatch? = nil,
        claimant: Claimant = .unknown
    ) {
        self.time = time
        self.chance = chance
        self.logger = logger
        self.metrics = metrics
        self.herald = herald
        self.tracer = tracer
        self.clocks = clocks
        self.claimant = claimant
    }
}

extension PipelineContext {
    /// A claim that no other batch has.
    func newClaim() -> Claim {
        var chance = chance
        return Claim(of: claimant, using: &chance)
    }
}
