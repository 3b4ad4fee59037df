import Foundation
import ServiceRuntime
import Synchronization

/// A child process that is started for a measurement and ended with it.
///
/// It runs this program unless another is named.
final class BenchChild: Sendable {
    let identifier: pid_t
    /// The name used in error messages.
    private let name: String
    private let logFile: String
    /// The wait status after it was collected.
    ///
    /// The identifier is invalid after that.
    private let status = Mutex<CInt?>(nil)

    static let thisProgram = "/proc/self/exe"

    /// Starts this program, or another one, with these words.
    ///
    /// Its stderr goes to a file.
    init(
        _ words: [String],
        of program: String = thisProgram,
        environment: [String: String],
        logFile: String
    ) throws {
        name = words.first.map { "bellhop \($0)" } ?? program
        self.logFile = logFile
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, logFile, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A separate process group, since Ctrl-C is meant for this process, which ends its children in order. The
        // children do not inherit this process's signal mask.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = (["bellhop"] + words).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var identifier: pid_t = 0
        let result = posix_spawn(&identifier, program, &actions, &attributes, &arguments, &variables)
        guard result == 0 else {
            throw CommandFailure(
                .tryAgain,
                attempted: "starting \(name)",
                cameBack: String(cString: strerror(result)),
                whatToDo: "see whether the machine has room for more processes"
            )
        }
        self.identifier = identifier
    }

    /// Sends a signal, such as SIGSTOP or SIGCONT.
    func send(_ signal: CInt) {
        if isRunning { kill(identifier, signal) }
    }

    var isRunning: Bool { collect() == nil }

    /// Ends the run with the child's last log line if the child has exited.
    func expectRunning() throws {
        guard let status = collect() else { return }
        let last = log.split(separator: "\n").last.map(String.init) ?? "it said nothing"
        throw CommandFailure(
            .tryAgain,
            attempted: "running \(name)",
            cameBack: "\(Self.words(ChildExit(waitStatus: status))): \(last)",
            whatToDo: "correct the fault that it reports"
        )
    }

    /// Returns the end in words: a peer's exit codes have other meanings than Bellhop's, so only the number is given.
    static func words(_ ending: ChildExit) -> String {
        switch ending {
        case .exited(let code): "it ended with exit code \(code)"
        case .killed: "\(ending)"
        }
    }

    /// The log so far.
    var log: String { (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? "" }

    /// Sends SIGTERM, and SIGKILL after 30 seconds.
    func end() async {
        guard isRunning else { return }
        kill(identifier, SIGTERM)
        for _ in 0..<600 where isRunning { await Pause.evenWhenCancelled(milliseconds: 50) }
        guard isRunning else { return }
        kill(identifier, SIGKILL)
        while isRunning { await Pause.evenWhenCancelled(milliseconds: 10) }
    }

    private func collect() -> CInt? {
        status.withLock { status in
            var result: CInt = 0
            if status == nil, waitpid(identifier, &result, WNOHANG) == identifier { status = result }
            return status
        }
    }
}

/// Waits also in a cancelled task, since clean-up has to wait for processes to end.
enum Pause {
    static func evenWhenCancelled(milliseconds: Int) async {
        await Task.detached { try? await Task.sleep(for: .milliseconds(milliseconds)) }.value
    }
}
