/// How a duty is repeated: one turn of its work after the other until the drain, with a pause between
/// them.
///
/// After a turn that fails it tries again soon, then ever later, so that a database that is away is not asked in vain by
/// everybody at once.
package struct DutyLoop: Sendable {
    /// When the next turn begins.
    package enum Next: Sendable, Equatable {
        case after(Duration)
        /// There is no more to do for now.
        case later

        /// The load was full, so that there may be more.
        package static let atOnce = Next.after(.zero)
    }

    /// How long it rests when there is no more to do.
    package let interval: Duration
    /// What the log says of a turn that failed, such as `the database cannot be asked what is due`.
    let trouble: String
    let chance: Chance
    let logger: Logger
    /// Whether a turn may begin; while it may not, the loop asks again at least every five seconds.
    private let mayBegin: @Sendable () async -> Bool

    package init(
        interval: Duration,
        trouble: String,
        chance: Chance,
        logger: Logger,
        mayBegin: @escaping @Sendable () async -> Bool = { true }
    ) {
        self.interval = interval
        self.trouble = trouble
        self.chance = chance
        self.logger = logger
        self.mayBegin = mayBegin
    }

    /// Runs until the drain begins or the task is cancelled; a turn that is under way is never cut short.
    package func run(until drain: DrainSignal, _ turn: () async throws -> Next) async {
        var backoff = Backoff(base: min(interval, .seconds(1)), cap: max(interval, .seconds(5)))
        var chance = chance
        while !drain.isDraining, !Task.isCancelled {
            guard await mayBegin() else {
                await drain.pause(for: min(interval, .seconds(5)))
                continue
            }
            let pause: Duration
            do {
                let next = try await turn()
                backoff.reset()
                pause = if case .after(let span) = next { span } else { interval }
            } catch {
                pause = backoff.next(using: &chance)
                logger.warning(trouble, ["error": .error(error), "again": .span(pause)])
            }
            if pause > .zero { await drain.pause(for: pause) }
        }
    }
}
