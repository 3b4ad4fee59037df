import ServiceRuntime
import Synchronization

/// One place in a pool: keeps a worker in it, and another one after that has ended.
final class WorkerSeat: Service {
    let name: String
    private let program: ChildProgram
    private let lifeline: Lifeline
    private let logger: Logger
    private let current = Mutex<ChildProcess?>(nil)

    init(number: Int, program: ChildProgram, lifeline: Lifeline, logger: Logger) {
        name = "worker \(number)"
        self.program = program
        self.lifeline = lifeline
        self.logger = logger.with(["worker": .integer(number)])
    }

    /// Ends without a word when its worker drained; a worker that no restart can help ends the pool.
    func run(until drain: DrainSignal) async throws {
        var pauses = RestartPauses()
        var chance = SystemRandomNumberGenerator()
        while !drain.isDraining, !Task.isCancelled {
            let start = ContinuousClock.now
            let ending = try await runOnce(drain)
            guard !drain.isDraining else { return }
            let pause = pauses.next(afterRunning: start.duration(to: .now), using: &chance)
            // A worker drains where somebody has asked it to, past the pool: that is a wish, and no trouble.
            logger.log(
                ending.isWished ? .notice : .warning,
                "the worker ended, starting another",
                ["because": .text(ending.why), "in": .span(pause)]
            )
            await drain.pause(for: pause)
        }
    }

    /// Has the worker read its catalogues again, if there is one.
    ///
    /// One that has only just begun ends of it; the next one reads the new ones.
    func hangUp() {
        current.withLock { $0 }?.hangUp()
    }

    /// Ends the worker at once, if there is one.
    func kill() {
        current.withLock { $0 }?.kill()
    }

    /// Says why it ended, and whether somebody wanted it to.
    private func runOnce(_ drain: DrainSignal) async throws -> (why: String, isWished: Bool) {
        let child: ChildProcess
        do throws(CommandFailure) {
            child = try ChildProcess(program, lifeline: lifeline)
        } catch {
            return (error.description, false)
        }
        current.withLock { $0 = child }
        logger.notice("worker started", ["child": .integer(Int(child.id))])
        let ending = await attend(child, drain)
        current.withLock { $0 = nil }
        try judge(ending, isDraining: drain.isDraining)
        return (ending.description, ending == .exited(0))
    }

    private func attend(_ child: ChildProcess, _ drain: DrainSignal) async -> ChildEnding {
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

    private func judge(_ ending: ChildEnding, isDraining: Bool) throws(CommandFailure) {
        switch ending {
        case .exited(let code) where [ExitCode.usage.rawValue, ExitCode.configuration.rawValue].contains(code):
            throw CommandFailure(
                ExitCode(rawValue: code) ?? .bug,
                attempted: "running \(name)",
                cameBack: ending.description,
                whatToDo: "its own last line says what to mend"
            )
        case .exited(0), .killed(signal: 15): break
        case .exited, .killed:
            guard isDraining else { return }
            throw CommandFailure(
                .tryAgain,
                attempted: "draining \(name)",
                cameBack: ending.description,
                whatToDo: "nothing is lost: what it held is delivered again"
            )
        }
    }
}
