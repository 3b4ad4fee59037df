import Foundation
import Synchronization
import TestSupport

/// A program that a test starts and that ends with the test.
///
/// It uses plain system calls. Foundation's `Process` sometimes misses the end of a program when many tests start
/// programs at the same time.
final class TestProgram: Sendable {
    struct Failure: Error {
        let program: String
        let reason: Int32
    }

    /// A socket for the program's standard input and output.
    ///
    /// It is -1 if it was not requested.
    let stream: CInt

    private let identifier: pid_t

    /// The exit status once it has been collected.
    ///
    /// After that the identifier is invalid.
    private let status = Mutex<CInt?>(nil)

    /// Returns the path of a program, or `nil` if it is not installed.
    static func find(_ program: String) -> String? {
        ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"]
            .map { "\($0)/\(program)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts the program.
    ///
    /// With `connected`, its standard input and output are connected to `stream`, otherwise to `/dev/null`.
    init(_ program: String, _ arguments: [String], connected: Bool = false) throws {
        guard let path = Self.find(program) else { throw Failure(program: program, reason: ENOENT) }
        let (ours, theirs) = try connected ? Self.pair() : (-1, -1)
        defer { if theirs >= 0 { close(theirs) } }
        stream = ours

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in CInt(0)...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        if connected {
            posix_spawn_file_actions_adddup2(&actions, theirs, 0)
            posix_spawn_file_actions_adddup2(&actions, theirs, 1)
        }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier: pid_t = 0
        let result = posix_spawn(&identifier, path, &actions, nil, &words, environ)
        self.identifier = identifier
        guard result == 0 else { throw Failure(program: program, reason: result) }
    }

    deinit {
        end()
        if stream >= 0 { close(stream) }
    }

    /// Starts a server on a free port and waits until it accepts connections there.
    ///
    /// The port is below the range from which the kernel assigns ports, so that no other program gets it meanwhile.
    static func serving(
        _ program: String,
        connected: Bool = false,
        arguments: (UInt16) -> [String]
    ) async throws -> (process: TestProgram, port: UInt16) {
        for _ in 0..<20 {
            let port = UInt16.random(in: 12_000..<32_000)
            guard !TestSocket.accepts(port: port) else { continue }
            let process = try TestProgram(program, arguments(port), connected: connected)
            try await eventually { TestSocket.accepts(port: port) || !process.isRunning }
            // A server that could not bind the port exits.
            if process.isRunning { return (process, port) }
        }
        throw Failure(program: program, reason: EADDRINUSE)
    }

    var isRunning: Bool { collect(WNOHANG) == nil }

    func waitUntilExit() -> CInt { collect(0) ?? -1 }

    func end() {
        guard isRunning else { return }
        kill(identifier, SIGKILL)
        _ = waitUntilExit()
    }

    private func collect(_ options: CInt) -> CInt? {
        status.withLock { status in
            var result: CInt = 0
            if status == nil, waitpid(identifier, &result, options) == identifier { status = result }
            return status
        }
    }

    /// Returns two connected sockets.
    ///
    /// No other program inherits them, so that each side detects the end of the other.
    private static func pair() throws -> (ours: CInt, theirs: CInt) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Failure(program: "socketpair", reason: errno) }
        return (ends[0], ends[1])
    }
}
