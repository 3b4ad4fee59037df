import Foundation

/// What a child process is to run.
package struct ChildProgram: Sendable {
    /// The file to execute.
    package var path: String
    /// Without the program's own name.
    package var arguments: [String]
    package var environment: [String: String]

    package init(path: String, arguments: [String], environment: [String: String]) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }

    /// The file of the program that is running.
    ///
    /// Its own path while that is the same file, so that lists of processes show its name; once it was replaced or
    /// deleted, the kernel's link to what is running.
    package static func own() -> String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return link }
        var (running, found) = (stat(), stat())
        guard stat(link, &running) == 0, stat(path, &found) == 0 else { return link }
        return running.st_dev == found.st_dev && running.st_ino == found.st_ino ? path : link
    }
}
