import TestSupport
import Foundation
import Glibc
import Synchronization
import TestSupport

/// A program that runs alongside the test, with its output in a separate file.
///
/// Foundation's `Process` is not suitable: it regards a program as running as long as any of its children runs, and
/// `deploy/services` starts servers.
///
/// The program does not outlive the test run: if that is killed, the kernel kills the program.
///
/// Thread safety: the ending is behind a lock, so that the pid is never used after the program was collected;
/// everything else is constant.
final class ProgramRun: Sendable {
    enum Ending: Equatable {
        case exited(Int32)
        case signalled(Int32)
    }

    let name: String
    private let pid: pid_t
    private let logFile: URL
    private let state = Mutex<Ending?>(nil)

    /// Starts `program` with this environment, without the variables of the test process.
    init(
        _ program: URL,
        _ arguments: [String],
        environment: [String: String],
        named name: String,
        logs: URL
    ) throws {
        self.name = name
        let log = logs.appendingPathComponent("\(name)-\(UInt32.random(in: 0 ... .max)).log")
        let leash = Program.find("setpriv").map { [$0.path, "--pdeathsig", "KILL", "--"] } ?? []
        let words = leash + [program.path] + arguments
        let variables = environment.map { "\($0.key)=\($0.value)" }
        logFile = log
        FailureEvidence.watch(log: log)
        pid = try SpawningThread.shared.run { try Self.spawn(words, variables, log: log.path) }
    }

    private static func spawn(_ words: [String], _ environment: [String], log: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A child must not inherit the test's sockets; closing a number that is not open has no effect.
        for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // The threads of Swift's tasks block signals, and a child would inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let (argv, envp) = (words.map { strdup($0) } + [nil], environment.map { strdup($0) } + [nil])
        defer { (argv + envp).forEach { free($0) } }
        var pid = pid_t()
        let status = posix_spawn(&pid, words[0], &actions, &attributes, argv, envp)
        guard status == 0 else { throw ProofFailure("cannot start \(words[0]): \(String(cString: strerror(status)))") }
        return pid
    }

    var isRunning: Bool { collected == nil }

    /// The process id, which no other process has while the program runs.
    var processID: Int32 { pid }

    /// The ending of the program; `nil` while it runs.
    private var collected: Ending? {
        state.withLock { state in
            if let state { return state }
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
            let signal = status & 0x7f
            state = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
            return state
        }
    }

    /// Sends a signal to the program, unless it has ended.
    func send(_ signal: Int32) {
        state.withLock { state in
            if state == nil { kill(pid, signal) }
        }
    }

    /// Waits for the end of the program.
    @discardableResult
    func ending(atMost limit: LongestWait = .test) async throws -> Ending {
        try await eventually("\(name) ends; its log:\n\(log)", atMost: limit) { !isRunning }
        guard let collected else { throw ProofFailure("\(name) has no ending") }
        return collected
    }

    /// Kills the program if it still runs, and waits for its end.
    func end() async {
        send(SIGKILL)
        _ = try? await ending()
    }

    /// The output so far.
    var log: String {
        (try? String(contentsOf: logFile, encoding: .utf8)) ?? ""
    }

    func removeLog() {
        try? FileManager.default.removeItem(at: logFile)
    }

    func waitForLog(_ text: String) async throws {
        try await eventually("\(name) says \(text); its log:\n\(log)") {
            log.contains(text) || !isRunning
        }
        guard log.contains(text) else { throw ProofFailure("\(name) ended early; its log:\n\(log)") }
    }
}
