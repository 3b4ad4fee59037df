import Foundation
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
    private let limits: Limits
    private let start = Mutex(SupervisedStart())
    private let current = Mutex<ChildProcess?>(nil)
    /// The signal that ends the pause before the next process.
    ///
    /// It is `nil` while there is no pause.
    private let pause = Mutex<DrainSignal?>(nil)

    /// The times after which a process that does not work is ended and killed.
    struct Limits: Sendable {
        /// The time without a beat from which a process counts as hung.
        let silence: Duration
        /// The time from SIGTERM to SIGKILL.
        let grace: Duration
    }

    /// Creates a seat.
    ///
    /// `number` identifies it among several seats of a kind, and each of its log lines contains it.
    init(
        _ kind: String,
        number: Int? = nil,
        program: ChildProgram,
        lifeline: ParentExitMonitor,
        limits: Limits,
        logger: Logger
    ) {
        self.kind = kind
        self.limits = limits
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
            case .ended(let ending, let isHung):
                let isHopeless = RestartHistory.isHopeless(ending)
                guard !isHopeless || record.hasRun(ending, for: span) else { throw hopeless(ending) }
                record.note(ending, for: span)
                await rest(
                    record.pause(after: ending, running: span, using: &chance),
                    // An exit without an error means that an operator drained this process directly. That is not a
                    // problem.
                    ending == .exited(0) ? .notice : .warning,
                    isHopeless ? "the \(kind) cannot start" : "the \(kind) ended, starting another",
                    isHung
                        ? "it hung" : isHopeless ? "\(ending), its last line names the fault" : "\(ending)",
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
        /// With whether it hung and was ended therefore.
        case ended(ChildExit, isHung: Bool)
    }

    private func runOnce(_ drain: DrainSignal) async throws -> Run {
        let (child, pulse): (ChildProcess, ProcessPulse)
        do throws(CommandFailure) {
            var program = program
            program.environment[SupervisedStart.variable] = start.withLock { start in
                start.noteStart(at: Int64(Date().timeIntervalSince1970))
                return start.text
            }
            pulse = try ProcessPulse()
            child = try ChildProcess(program, lifeline: lifeline, pulse: pulse)
        } catch {
            return .notStarted(error.description)
        }
        current.withLock { $0 = child }
        logger.notice("\(kind) started", ["child": .integer(Int(child.id))])
        let hung = start.withLock { $0.hung }
        let ending = await attend(child, pulse, drain)
        current.withLock { $0 = nil }
        let isHung = start.withLock { start in
            let isHung = start.hung > hung
            start.noteEnd(of: child.id, by: ending, isHung: isHung)
            return isHung
        }
        if drain.isDraining { try judgeDrain(ending) }
        return .ended(ending, isHung: isHung)
    }

    private func attend(_ child: ChildProcess, _ pulse: ProcessPulse, _ drain: DrainSignal) async -> ChildExit {
        await withTaskCancellationHandler {
            // Cancelled when this scope ends.
            async let _: Void = askToDrain(child, drain)
            async let _: Void = endIfHung(child, pulse, drain)
            return await child.ending()
        } onCancel: {
            child.kill()
        }
    }

    private func askToDrain(_ child: ChildProcess, _ drain: DrainSignal) async {
        await drain.wait()
        if drain.isDraining { child.terminate() }
    }

    /// Ends a process that has sent no beat for too long, with SIGTERM and then with SIGKILL.
    ///
    /// Intervals are counted, and not their time: after this process or the whole machine was stopped for a while, no
    /// child is blamed for it. During a drain the group's time limit applies.
    private func endIfHung(_ child: ChildProcess, _ pulse: ProcessPulse, _ drain: DrainSignal) async {
        var silence = Duration.zero
        while silence < limits.silence {
            guard await Self.interval(), !drain.isDraining else { return }
            silence = pulse.hasBeaten() ? .zero : silence + ProcessPulse.interval
        }
        start.withLock { $0.hung += 1 }
        let fields: LogFields = ["child": .integer(Int(child.id)), "silent": .span(silence)]
        logger.warning("the \(kind) hangs, ending it", fields)
        child.terminate()
        var waited = Duration.zero
        while waited < limits.grace {
            guard await Self.interval(), !drain.isDraining else { return }
            waited += ProcessPulse.interval
        }
        logger.warning("the \(kind) hangs and does not end, killing it", fields)
        child.kill()
    }

    /// Returns `false` if the process has ended meanwhile.
    private static func interval() async -> Bool {
        (try? await Task.sleep(for: ProcessPulse.interval)) != nil
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
