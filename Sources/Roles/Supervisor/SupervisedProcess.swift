import ServiceRuntime
import Synchronization

/// Keeps one process of a role running, and starts another one when it ends.
final class SupervisedProcess: Service {
    let name: String
    /// The role's name in the log.
    private let kind: String
    private let program: ChildProgram
    private let lifeline: ParentExitMonitor
    private let logger: Logger
    private let current = Mutex<ChildProcess?>(nil)
    /// The signal that ends the pause before the next process.
    ///
    /// It is `nil` while there is no pause.
    private let pause = Mutex<DrainSignal?>(nil)

    /// Creates a seat.
    ///
    /// `number` identifies it among several seats of a kind, and each of its log lines contains it.
    init(_ kind: String, number: Int? = nil, program: ChildProgram, lifeline: ParentExitMonitor, logger: Logger) {
        self.kind = kind
        name = number.map { "\(kind) \($0)" } ?? kind
        self.program = program
        self.lifeline = lifeline
        self.logger = number.map { logger.with([kind: .integer($0)]) } ?? logger
    }

    /// Runs the processes and returns after a drain.
    ///
    /// An error that no restart can correct ends all processes, but only as long as no process has run in this seat.
    /// Otherwise the cause is recent: catalogues that were saved incompletely, a topology that is not applied yet, or a
    /// port in use. The other seats' processes are not affected, so this seat retries with growing pauses until the
    /// cause is corrected.
    func run(until drain: DrainSignal) async throws {
        var record = RestartHistory()
        var chance = SystemRandomNumberGenerator()
        while !drain.isDraining, !Task.isCancelled {
            let start = ContinuousClock.now
            let ending = try await runOnce(drain)
            guard !drain.isDraining else { return }
            let span = start.duration(to: .now)
            switch ending {
            case .notStarted(let why):
                let pause = record.pause(after: nil, running: span, using: &chance)
                await rest(pause, .warning, "no \(kind) could be started", why, drain)
            case .ended(let ending):
                let isHopeless = RestartHistory.isHopeless(ending)
                guard !isHopeless || record.hasRun(ending, for: span) else { throw hopeless(ending) }
                record.note(ending, for: span)
                await rest(
                    record.pause(after: ending, running: span, using: &chance),
                    // An exit without an error means that an operator drained this process directly. That is not a
                    // problem.
                    ending == .exited(0) ? .notice : .warning,
                    isHopeless ? "the \(kind) cannot start" : "the \(kind) ended, starting another",
                    isHopeless ? "\(ending.description), its last line names the fault" : ending.description,
                    drain
                )
            }
        }
    }

    /// Makes the process reload its catalogues.
    ///
    /// Without a process, the next one starts immediately and reads them.
    ///
    /// A process that has only just started may end because of the signal. The next one reads the new catalogues.
    func hangUp() {
        current.withLock { $0 }?.hangUp()
        pause.withLock { $0 }?.fire()
    }

    /// Kills the process immediately, if there is one.
    func kill() {
        current.withLock { $0 }?.kill()
    }

    /// Waits before the next process, unless a drain or a SIGHUP ends the pause.
    private func rest(
        _ span: Duration,
        _ level: LogLevel,
        _ what: String,
        _ why: String,
        _ drain: DrainSignal
    ) async {
        logger.log(level, what, ["because": .text(why), "in": .span(span)])
        let wake = DrainSignal()
        pause.withLock { $0 = wake }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await drain.pause(for: span) }
            group.addTask { await wake.wait() }
            await group.next()
            group.cancelAll()
        }
        pause.withLock { $0 = nil }
    }

    private enum Run {
        case notStarted(String)
        case ended(ChildExit)
    }

    private func runOnce(_ drain: DrainSignal) async throws -> Run {
        let child: ChildProcess
        do throws(CommandFailure) {
            child = try ChildProcess(program, lifeline: lifeline)
        } catch {
            return .notStarted(error.description)
        }
        current.withLock { $0 = child }
        logger.notice("\(kind) started", ["child": .integer(Int(child.id))])
        let ending = await attend(child, drain)
        current.withLock { $0 = nil }
        if drain.isDraining { try judgeDrain(ending) }
        return .ended(ending)
    }

    private func attend(_ child: ChildProcess, _ drain: DrainSignal) async -> ChildExit {
        await withTaskCancellationHandler {
            // Cancelled when this scope ends.
            async let _: Void = askToDrain(child, drain)
            return await child.ending()
        } onCancel: {
            child.kill()
        }
    }

    private func askToDrain(_ child: ChildProcess, _ drain: DrainSignal) async {
        await drain.wait()
        if drain.isDraining { child.terminate() }
    }

    private func judgeDrain(_ ending: ChildExit) throws(CommandFailure) {
        switch ending {
        case .exited(0), .killed(signal: 15): break
        case .exited where RestartHistory.isHopeless(ending): throw hopeless(ending)
        case .exited, .killed:
            throw CommandFailure(
                .tryAgain,
                attempted: "draining \(name)",
                cameBack: ending.description,
                whatToDo: "nothing is lost: what it held is delivered again"
            )
        }
    }

    private func hopeless(_ ending: ChildExit) -> CommandFailure {
        var code = ExitCode.configuration
        if case .exited(let number) = ending { code = ExitCode(rawValue: number) ?? .bug }
        return CommandFailure(
            code,
            attempted: "running \(name)",
            cameBack: ending.description,
            whatToDo: "its last line names the fault"
        )
    }
}
