import Foundation
import Synchronization

/// A running child process with the parent's stdout and stderr.
///
/// A thread waits for its end.
package final class ChildProcess: Sendable {
    private struct State {
        /// The end of the process; `nil` while it runs.
        var ending: ChildExit?
        var waiters: [CheckedContinuation<ChildExit, Never>] = []
    }

    package let id: Int32
    private let state = Mutex(State())

    /// Starts the program in a separate process group, with the parent's lifeline as stdin.
    ///
    /// The error contains the system's reason.
    ///
    /// A terminal's Ctrl-C then reaches only the parent, which handles it for its children.
    ///
    /// With a pulse, the child gets its writing end.
    package convenience init(
        _ program: ChildProgram,
        lifeline: ParentExitMonitor,
        pulse: ProcessPulse? = nil
    ) throws(CommandFailure) {
        try self.init(program, stdin: lifeline.readEnd, pulse: pulse?.writeEnd)
    }

    /// Starts a program that uses the parent's terminal until it ends, such as an editor.
    ///
    /// In any group except the parent's, the terminal would stop it as soon as it reads.
    package convenience init(inForeground program: ChildProgram) throws(CommandFailure) {
        try self.init(program, stdin: nil, pulse: nil)
    }

    private init(_ program: ChildProgram, stdin: Int32?, pulse: Int32?) throws(CommandFailure) {
        id = try Self.spawn(program, stdin: stdin, pulse: pulse)
        NativeThread.start(named: "child-\(id)") { [self] in attend() }
    }

    /// Waits for the end of the process and returns it.
    ///
    /// Cancelling the task does not end the wait; to end it early, kill the child.
    package func ending() async -> ChildExit {
        await withCheckedContinuation { waiter in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiters.append(waiter) }
                return state.ending
            }
            if let ending { waiter.resume(returning: ending) }
        }
    }

    /// Asks the process to drain.
    package func terminate() { send(SIGTERM) }

    /// Asks the process to reload its files.
    package func hangUp() { send(SIGHUP) }

    /// Ends the process immediately.
    package func kill() { send(SIGKILL) }

    /// Sends a signal under the lock.
    ///
    /// The process's number is released under the same lock, so that it still belongs to the process.
    private func send(_ signal: Int32) {
        state.withLock { state in
            guard state.ending == nil else { return }
            _ = Glibc.kill(id, signal)
        }
    }

    private func attend() {
        var report = siginfo_t()
        while waitid(P_PID, id_t(id), &report, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (ending, waiters) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let ending = ChildExit(waitStatus: status)
            state.ending = ending
            defer { state.waiters = [] }
            return (ending, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: ending) }
    }

    /// Starts the program, with `stdin` and in a separate group, or with the parent's stdin and in its group if `stdin`
    /// is `nil`.
    private static func spawn(
        _ program: ChildProgram,
        stdin: Int32?,
        pulse: Int32?
    ) throws(CommandFailure) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if let stdin {
            posix_spawn_file_actions_adddup2(&actions, stdin, STDIN_FILENO)
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        if let pulse { posix_spawn_file_actions_adddup2(&actions, pulse, ProcessPulse.childDescriptor) }
        restoreSignals(&attributes)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var words = ([program.path] + program.arguments).map { strdup($0) } + [nil]
        var environment = program.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + environment { free(text) } }
        var id: Int32 = 0
        let failure = posix_spawn(&id, program.path, &actions, &attributes, &words, &environment)
        guard failure == 0 else {
            throw CommandFailure(
                .tryAgain,
                attempted: "starting \(program.path)",
                cameBack: String(cString: strerror(failure)),
                whatToDo: "look at the machine's memory and its limit of processes"
            )
        }
        return id
    }

    /// Gives the child the signal settings that a shell would give, even if the parent blocks or ignores signals.
    private static func restoreSignals(_ attributes: inout posix_spawnattr_t) {
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var usual = sigset_t()
        sigemptyset(&usual)
        for signal in [SIGTERM, SIGINT, SIGQUIT, SIGPIPE] { sigaddset(&usual, signal) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
    }
}

/// The program of a child process.
package struct ChildProgram: Sendable {
    /// The file to execute.
    package var path: String
    /// The arguments without the program's name.
    package var arguments: [String]
    package var environment: [String: String]

    package init(path: String, arguments: [String], environment: [String: String]) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }

    /// Returns the file of the running program.
    ///
    /// This is the program's path while it names the same file, so that process lists show its name. After the file was
    /// replaced or deleted, it is the kernel's link to the running file.
    package static func own() -> String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return link }
        var (running, found) = (stat(), stat())
        guard stat(link, &running) == 0, stat(path, &found) == 0 else { return link }
        return running.st_dev == found.st_dev && running.st_ino == found.st_ino ? path : link
    }
}

/// The end of a child process.
package enum ChildExit: Sendable, Equatable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    /// Decodes a wait status: the low seven bits are the signal, the second byte is the exit code (wait(2)).
    package init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .exited((waitStatus >> 8) & 0xFF) : .killed(signal: signal)
    }

    /// The text for the log, with the meaning of Bellhop's exit codes.
    package var description: String {
        switch self {
        case .exited(0): "it was asked to end, and drained"
        case .exited(let code):
            "it ended with exit code \(code)" + (ExitCode(rawValue: code).map { " (\($0.meaning))" } ?? "")
        case .killed(let signal): "it was killed by \(Self.name(of: signal))"
        }
    }

    private static func name(of signal: Int32) -> String {
        guard let name = names[signal] else { return "signal \(signal)" }
        return signal == 9 ? "\(name), by hand or for want of memory" : name
    }

    /// The signal numbers of Linux.
    private static let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
        9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
    ]
}

extension ExitCode {
    fileprivate var meaning: String {
        switch self {
        case .done: "done"
        case .answerIsNo: "the answer is no"
        case .usage: "its command line is wrong"
        case .badInput: "its input is wrong"
        case .unavailable: "the broker or the database cannot be reached"
        case .bug: "a bug"
        case .tryAgain: "it did not finish in time"
        case .configuration: "its configuration is wrong"
        }
    }
}
