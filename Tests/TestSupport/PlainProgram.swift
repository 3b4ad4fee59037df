import Foundation

/// Runs a program with the plain system calls.
///
/// Foundation's `Process` fails if many tests start programs while others open and close descriptors.
enum PlainProgram {
    /// Runs a program between two files and returns its status, as `waitpid` reports it; -1 if it did not start.
    static func run(
        _ words: [String],
        environment variables: [String: String],
        input: String = "/dev/null",
        output: String = "/dev/null"
    ) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var arguments = words.map { strdup($0) } + [nil]
        var environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var id: pid_t = 0
        guard posix_spawn(&id, words[0], &actions, nil, &arguments, &environment) == 0 else { return -1 }
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return -1 }
        }
        return status
    }

    /// Runs a program with a text as its input, and returns its status and its output.
    ///
    /// It waits on a separate thread, because the program may take seconds. `timeout` ends a program that waits for
    /// something that never happens.
    static func output(
        of words: [String],
        environment: [String: String],
        input: String
    ) async throws -> (status: Int32, text: String) {
        let base = NSTemporaryDirectory() + "bellhop-script-" + UUID().uuidString
        let (question, answer) = (base + ".in", base + ".out")
        defer { for path in [question, answer] { unlink(path) } }
        try input.write(toFile: question, atomically: false, encoding: .utf8)
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let limited = ["/usr/bin/timeout", "600"] + words
                continuation.resume(returning: run(limited, environment: environment, input: question, output: answer))
            }
        }
        return (status, (try? String(contentsOfFile: answer, encoding: .utf8)) ?? "")
    }
}
