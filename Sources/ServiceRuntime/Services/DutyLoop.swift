/// Repeats the work of a duty in turns until the drain, with a pause between them.
///
/// After a failed turn it tries again soon, and then with growing pauses, so that an unavailable database does not
/// receive queries from all processes at the same time.
package struct DutyLoop: Sendable {
    /// The start of the next turn.
    package enum Next: Sendable, Equatable {
        case after(Duration)
        /// There is nothing more to do for now.
        case later

        /// The batch was full, so that there may be more.
        package static let atOnce = Next.after(.zero)
    }

    /// The pause when there is nothing more to do.
    package let interval: Duration
    /// The log message for a failed turn, such as `the database cannot be asked what is due`.
    let trouble: String
    let chance: RandomSource
    let logger: Logger
    /// Whether a turn may begin.
    ///
    /// While it may not, the loop checks again at least every five seconds.
    private let mayBegin: @Sendable () async -> Bool

    package init(
        interval: Duration,
        trouble: String,
        chance: RandomSource,
        logger: Logger,
        mayBegin: @escaping @Sendable () async -> Bool = { true }
    ) {
        self.interval = interval
        self.trouble = trouble
        self.chance = chance
        self.logger = logger
        self.mayBegin = mayBegin
    }

    /// Runs until the drain begins or the task is cancelled; a running turn is never interrupted.
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
