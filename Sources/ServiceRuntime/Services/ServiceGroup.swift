import Foundation

/// Runs services concurrently until one signal, one failure or one early return drains all of them.
///
/// A shutdown has three steps: the drain signal fires; services that are not done after `drainTimeout` are cancelled;
/// services that ignore this for five more seconds are left behind. A second signal ends the process immediately,
/// unless it arrives within a second of the first, because one request to end often arrives twice, from a terminal and
/// from a supervisor.
package struct ServiceGroup: Sendable {
    /// The group's connections to its process, which tests replace.
    package struct Context: Sendable {
        /// Returns signals as they arrive.
        package var arrivals: @Sendable ([ProcessSignal]) -> AsyncStream<ProcessSignal>
        /// Waits for a span, or throws if the task is cancelled.
        package var sleep: @Sendable (Duration) async throws -> Void
        /// Ends the process without any cleanup.
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

    /// The time in which a cancelled service must end.
    package static let cancelTimeout = Duration.seconds(5)

    /// The time after the first signal in which others count as its echo.
    static let echoTime = Duration.seconds(1)

    private let services: [any Service]
    private let drainTimeout: Duration
    private let signals: [ProcessSignal]
    private let logger: Logger
    private let context: Context

    package init(
        _ services: [any Service],
        drainTimeout: Duration,
        signals: [ProcessSignal] = [.terminate, .interrupt],
        logger: Logger,
        context: Context = Context()
    ) {
        self.services = services
        self.drainTimeout = drainTimeout
        self.signals = signals
        self.logger = logger
        self.context = context
    }

    /// Runs until all services have ended.
    ///
    /// Cancelling the calling task drains the group, as a signal does.
    package func run() async -> GroupExit {
        ProcessSignal.ignoreBrokenPipes()
        let (events, continuation) = AsyncStream<GroupProgress.Event>.makeStream()
        // A separate task, because the calling task's cancellation must not end the loop that runs the drain.
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
    ) async -> GroupExit {
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
                    context.endProcess(.tryAgain)
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
        let arrivals = context.arrivals(signals)
        return Task {
            for await signal in arrivals { continuation.yield(.signal(signal)) }
        }
    }

    private func timer(
        _ span: Duration,
        _ event: GroupProgress.Event,
        _ continuation: AsyncStream<GroupProgress.Event>.Continuation
    ) -> Task<Void, Never> {
        Task {
            try? await context.sleep(span)
            // If the task was cancelled, the group has ended and the event is not read.
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

/// The end of a service group.
package enum GroupExit: Sendable {
    /// The reason why the group drained.
    package enum Cause: Sendable, Equatable, CustomStringConvertible {
        case signal(ProcessSignal)
        /// The task that ran the group was cancelled.
        case request
        /// A service returned or threw.
        case service(String)

        package var description: String {
            switch self {
            case .signal(let signal): signal.name
            case .request: "a request"
            case .service(let name): "the end of \(name)"
            }
        }
    }

    /// All services finished their work.
    case drained(Cause)
    /// These services did not finish in time and were cancelled.
    case timedOut(services: [String])
    /// This service was the first to throw.
    case failed(service: String, any Error)
    /// This service returned although no drain was requested.
    case returnedEarly(service: String)

    var isFailure: Bool { if case .failed = self { true } else { false } }

    /// Whether no service was left behind with unfinished work.
    package var isComplete: Bool { if case .timedOut = self { false } else { true } }

    /// The exit code for the process; a `CommandFailure` has a specific code.
    package var exitCode: ExitCode {
        switch self {
        case .drained: .done
        case .timedOut: .tryAgain
        case .failed(_, let error as CommandFailure): error.exitCode
        case .failed, .returnedEarly: .bug
        }
    }
}

extension GroupExit: CustomStringConvertible {
    /// The text for the last line of a log.
    package var description: String {
        switch self {
        case .drained(let cause): "drained, because of \(cause)"
        case .timedOut(let services):
            "\(services.joined(separator: ", ")) did not finish in time; the broker delivers their messages again"
        case .failed(let service, let error): "\(service) failed: \(error)"
        case .returnedEarly(let service): "\(service) ended unexpectedly"
        }
    }
}
