import Foundation

/// Runs services side by side until one signal, one failure or one early return drains them all.
///
/// Order of a shutdown: the drain signal fires; whoever is not done after `drainTimeout` is cancelled; whoever ignores
/// that for five more seconds is left behind. A second signal ends the process at once, unless it comes within a second
/// of the first: one wish to end often arrives twice, from a terminal and from a supervisor.
package struct ServiceGroup: Sendable {
    /// What the group takes from the process around it; tests bring their own.
    package struct Surroundings: Sendable {
        /// Signals as they arrive.
        package var arrivals: @Sendable ([ProcessSignal]) -> AsyncStream<ProcessSignal>
        /// Waits for a span, or throws when cancelled.
        package var sleep: @Sendable (Duration) async throws -> Void
        /// Ends the process without further ado.
        package var endProcess: @Sendable (ExitCode) -> Void

        package init(
            arrivals: @escaping @Sendable ([ProcessSignal]) -> AsyncStream<ProcessSignal> = ProcessSignal.arrivals,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            endProcess: @escaping @Sendable (ExitCode) -> Void = { _exit($0.rawValue) }
        ) {
            self.arrivals = arrivals
            self.sleep = sleep
            self.endProcess = endProcess
        }
    }

    /// How long a cancelled service may take to notice.
    package static let cancelTimeout = Duration.seconds(5)

    /// How long after the first signal others count as its echo.
    static let echoTime = Duration.seconds(1)

    private let services: [any Service]
    private let drainTimeout: Duration
    private let signals: [ProcessSignal]
    private let logger: Logger
    private let surroundings: Surroundings

    package init(
        _ services: [any Service],
        drainTimeout: Duration,
        signals: [ProcessSignal] = [.terminate, .interrupt],
        logger: Logger,
        surroundings: Surroundings = Surroundings()
    ) {
        self.services = services
        self.drainTimeout = drainTimeout
        self.signals = signals
        self.logger = logger
        self.surroundings = surroundings
    }

    /// Runs until everyone has ended.
    ///
    /// Cancelling the calling task drains the group, as a signal does.
    package func run() async -> GroupEnding {
        ProcessSignal.ignoreBrokenPipes()
        let (events, continuation) = AsyncStream<GroupProgress.Event>.makeStream()
        // A task of its own: the calling task's cancellation must not end the loop that carries out the drain.
        let loop = Task { await run(events, continuation) }
        return await withTaskCancellationHandler {
            await loop.value
        } onCancel: {
            continuation.yield(.cancelled)
        }
    }

    private func run(
        _ events: AsyncStream<GroupProgress.Event>,
        _ continuation: AsyncStream<GroupProgress.Event>.Continuation
    ) async -> GroupEnding {
        guard !services.isEmpty else { return .drained(.request) }
        let drain = DrainSignal()
        var tasks = [listen(continuation)]
        let running = services.indices.map { start($0, drain, continuation) }
        defer {
            for task in tasks { task.cancel() }
            continuation.finish()
        }
        var progress = GroupProgress(names: services.map(\.name))
        for await event in events {
            note(event)
            for action in progress.handle(event) {
                switch action {
                case .drain(let cause):
                    logger.notice("draining", ["because": "\(cause)", "timeout": .span(drainTimeout)])
                    drain.fire()
                    tasks.append(timer(drainTimeout, .drainTimeUp, continuation))
                case .awaitEchoes:
                    tasks.append(timer(Self.echoTime, .echoesOver, continuation))
                case .ignoreEcho(let signal):
                    logger.info("draining already", ["signal": .text(signal.name)])
                case .cancelServices(let names):
                    logger.warning(
                        "drain timed out, cancelling",
                        ["services": .text(names.joined(separator: ","))]
                    )
                    for task in running { task.cancel() }
                    tasks.append(timer(Self.cancelTimeout, .cancelTimeUp, continuation))
                case .endProcess(let signal):
                    logger.warning("second signal, exiting immediately", ["signal": .text(signal.name)])
                    surroundings.endProcess(.tryAgain)
                case .end(let ending):
                    return ending
                }
            }
        }
        return .drained(.request)
    }

    private func start(
        _ index: Int,
        _ drain: DrainSignal,
        _ continuation: AsyncStream<GroupProgress.Event>.Continuation
    ) -> Task<Void, Never> {
        let service = services[index]
        return Task {
            do {
                try await service.run(until: drain)
                continuation.yield(.finished(index, nil))
            } catch {
                continuation.yield(.finished(index, error))
            }
        }
    }

    private func listen(_ continuation: AsyncStream<GroupProgress.Event>.Continuation) -> Task<Void, Never> {
        let arrivals = surroundings.arrivals(signals)
        return Task {
            for await signal in arrivals {
                continuation.yield(.signal(signal))
            }
        }
    }

    private func timer(
        _ span: Duration,
        _ event: GroupProgress.Event,
        _ continuation: AsyncStream<GroupProgress.Event>.Continuation
    ) -> Task<Void, Never> {
        Task {
            try? await surroundings.sleep(span)
            // Cancelled means that the group has ended, and nobody listens any more.
            continuation.yield(event)
        }
    }

    private func note(_ event: GroupProgress.Event) {
        guard case .finished(let index, let error) = event else { return }
        let name = services[index].name
        if let error, !(error is CancellationError) {
            logger.error("a service failed", ["service": .text(name), "error": .error(error)])
        } else {
            logger.info("a service ended", ["service": .text(name)])
        }
    }
}
